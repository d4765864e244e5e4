/* Functions of extend.c for call.c. */
#ifndef ATTNC_HOST_CALL_H
#define ATTNC_HOST_CALL_H

#include "host.h"

/* Bytes of a state, and of its copy if one is needed. */
double call_state_lacks(const struct call *c);
/* Makes a state at its position; arrays, parameters and workspace must exist. Returns 0 or ATTN_E... */
int call_prepare_state(struct call *c);
/* Appends the tokens, one call for each. Returns 0 or ATTN_E... */
int call_tokens(const struct call *c);

#endif
