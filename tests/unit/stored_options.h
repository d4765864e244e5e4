/* The names that stored.h reads and forgets, in addition to the names of a type. */
#ifdef BLOCK_BYTES
#define AT_ONCE 16
#else
#define AT_ONCE 32
#endif
#define EARLY 1
#define EARLY_FOR_SEVERAL 32
#define SEVERAL_FROM 3
#define SOONER 1
#define PAGED 1
