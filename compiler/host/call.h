/* What call.c has of extend.c. */
#ifndef ATTNC_HOST_CALL_H
#define ATTNC_HOST_CALL_H

#include "host.h"

/* Bytes of a state, and of its copy where there has to be one. */
double call_state_lacks(const struct call *c);
/* A state at its position, once there are arrays, parameters and a workspace. 0, or ATTN_E... */
int call_prepare_state(struct call *c);
/* The tokens, each by a call. 0, or ATTN_E... */
int call_tokens(const struct call *c);

#endif
