/* Sums over tokens that travel over ranks (chain_sums.c): sums over keys for results, and for gradients those of struct
   attn_problem, earlier_sums and later_sums. Their kind is KEYS for sums over keys or earlier tokens, and QUERIES for
   sums over queries or later tokens. */
#ifndef ATTNRT_SUMS_H
#define ATTNRT_SUMS_H

#include "ranks.h"

enum { KEYS = 0, QUERIES = 1, KINDS = 2, SUMS_BUFFERS = 2 };

/* The first keys of the sequence, if all queries see them (prefix.c). Otherwise there are no such keys. */
struct prefix {
    int64_t keys;             /* the rank's tokens that are such keys */
    unsigned char *of[KINDS]; /* the sums over all such keys, and over all queries */
    unsigned char *params;    /* the parameters of calls with some of the tokens */
    void **pointers;          /* struct NAME_gradients of such a call */
    unsigned char *gradients; /* its gradients of parameters, each on whole cache lines */
};

/* A call on one rank. */
struct sums {
    const struct ranks_call *call;
    struct slicing slicing;
    size_t bytes[KINDS], sent_bytes, terms_bytes; /* sent: of the sums of the largest slice; terms: term_gradients */
    unsigned char *params, *of[KINDS], *own;      /* own: the sums over own tokens, or NULL */
    unsigned char *buffer[SUMS_BUFFERS], *gradients, *work;
    double *terms, *later_terms; /* of this rank, and of all later ranks */
    int64_t *starts;             /* query_start of calls */
    struct prefix prefix;
    int32_t *own_ids[KINDS], *other_ids[KINDS]; /* of documents (documents.c): of the rank's tokens, and next to them */
    int error;
};

void sums_note(struct sums *x, int error);
/* Returns all tokens of the rank. */
struct slice sums_tokens(const struct sums *x);
/* Returns n_q queries and n_k keys of `all`, from token `first` on. */
struct slice sums_some(const struct sums *x, const struct slice *all, int64_t first, int64_t n_q, int64_t n_k);
/* Returns the bytes of the sums of a problem. Results need sums over keys only. kind 2: of term_gradients. */
size_t sums_bytes(const struct sums *x, const struct attn_problem *problem, int kind);
/* Returns the problem of a call of the kernel with these sums. */
struct attn_problem sums_problem(const struct sums *x, const struct attn_problem *problem,
                                 unsigned char *const of[KINDS]);
/* Returns the place of the sums of slice n, and sets *bytes. */
unsigned char *sums_place(const struct sums *x, int64_t n, int kind, size_t *bytes);
/* Adds tokens to the sums `of`. */
int sums_add(const struct sums *x, const struct slice *tokens, unsigned char *const of[KINDS], int kind);
/* Makes own sums: those over all tokens of the rank. */
int sums_make_own(const struct sums *x, int kind);
/* Adds the rank's tokens of slice n to sums at `to`, which hold those of the slice from other ranks. */
int sums_add_slice(const struct sums *x, int64_t n, int kind, unsigned char *to);

/* ---- prefix.c ---- */

/* Whether all queries of this kernel see the first keys, although other sums are those over earlier keys. */
static inline bool prefix_serves(const struct attn_kernel *kernel)
{
    return kernel->key_sums && !kernel->sums_whole && kernel->open_keys > 0;
}
void prefix_place(struct sums *x, struct memory *m);
/* Gives all ranks with first keys the sums over all first keys, or over all queries, after sums have been passed from
   rank to rank. All ranks call this together. */
void prefix_share(struct sums *x, int kind);
/* Compute the rank's results or gradients. */
int prefix_attend(const struct sums *x);
int prefix_differentiate(const struct sums *x);

/* ---- documents.c ---- */

void documents_place(struct sums *x, struct memory *m);
void documents_exchange(struct sums *x); /* tells the neighbours the rank's ids, on all ranks together */
/* Returns whether the rank's tokens go on with the document of the sums of slice n that it receives. */
bool documents_go_on(const struct sums *x, int64_t n, int kind);

#endif
