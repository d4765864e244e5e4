/* Softmax attention, which several operators compute by the same kernels. */
#ifndef ATTENTION_H
#define ATTENTION_H

#include "provider.h"

enum { FAR = 1 << 30 }; /* a distance that no query has from a key */

/* For each sequence: the position of its first query, and the keys that its queries may see. */
struct range {
    int32_t *at, *since, *until;
};
bool range_of(struct call *call, int64_t batch, int64_t at, int64_t until, struct range *range);

/* Appends rows to past ones, in the output of this number if the node has it. If there is neither, the rows stay as
   they are. */
bool rows_with_past(struct call *call, struct rows *new_rows, struct tensor past, int output, int type);
/* Returns a mask whose last axis has n_k elements. The new ones hide keys. */
struct tensor padded(struct call *call, struct tensor mask, int64_t n_k);
/* Computes `out`, and `weights` if they have data. `mask` has truth values, or numbers that are added; `sinks` has a
   number for each head, or is NULL. */
bool compute_attention(struct call *call, struct range *range, struct rows q, struct rows k, struct rows v,
                       struct tensor mask, const void *sinks, struct tensor weights, struct rows out);
bool may_be_added(int mask, int queries);

int64_t last_size(const struct declared *declared);
/* Sets the kernel of a plan. Returns false if there is none. */
bool find_kernel(const struct settings *settings, const struct traits *traits, struct plan *plan);

#endif
