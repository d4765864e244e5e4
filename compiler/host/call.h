/* Functions of extend.c for call.c. */
#ifndef ATTNC_HOST_CALL_H
#define ATTNC_HOST_CALL_H

#include "host.h"

/* Returns the size in bytes of the state and its copy. There is no copy if c->grows is true. */
double call_state_lacks(const struct call *c);
/* Makes a state with c->position tokens. Arrays, parameters and workspace must exist. Returns 0 or ATTN_E... */
int call_prepare_state(struct call *c);
/* Appends c->tokens tokens to the state, one per call. Returns 0 or ATTN_E... */
int call_tokens(const struct call *c);

#endif
