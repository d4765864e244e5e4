/* How GCC compiles the functions after this header. */
#ifndef ATTNRT_KERNEL_OPTIMIZE_H
#define ATTNRT_KERNEL_OPTIMIZE_H

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=fast") /* a * b + c is one instruction (FMA), even with -std=c11 */
#pragma GCC optimize("no-schedule-insns") /* scheduling before register allocation would spill registers */
#endif

#endif
