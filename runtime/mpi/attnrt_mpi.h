/* One sequence over the ranks of an MPI communicator. */
#ifndef ATTNRT_MPI_H
#define ATTNRT_MPI_H

#include "attnrt_ranks.h"
#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined __GNUC__ && !defined ATTNRT_HIDDEN
#pragma GCC visibility push(default)
#endif

/* Makes a transport of MPI 3. All ranks of `comm` call it together. It duplicates the communicator, so its messages are
   not mixed with the messages of the caller. Errors of MPI on the duplicate are returned as ATTN_ERANKS. Returns 0,
   ATTN_ERANKS or ATTN_EPOINTER. */
int attn_mpi_transport(MPI_Comm comm, struct attn_transport *transport);
/* Frees the duplicate, before MPI_Finalize. All ranks call it together. */
int attn_mpi_transport_end(struct attn_transport *transport);

#if defined __GNUC__ && !defined ATTNRT_HIDDEN
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
