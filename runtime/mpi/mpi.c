/* The transport of MPI. A request and a communicator are handles of at most 8 bytes, so they need no more memory. */
#include "attnrt_mpi.h"

#include <string.h>

_Static_assert(sizeof(MPI_Request) <= sizeof(int64_t), "an MPI_Request fits into a request");
_Static_assert(sizeof(MPI_Comm) <= sizeof(void *), "an MPI_Comm fits into a pointer");

/* NOLINTBEGIN(bugprone-sizeof-expression, clang-analyzer-optin.mpi.MPI-Checker): handles may be pointers, and callers
   wait. */
static MPI_Comm comm_of(void *user)
{
    MPI_Comm comm;
    memcpy(&comm, &user, sizeof comm);
    return comm;
}

static int result_of(int error)
{
    return error == MPI_SUCCESS ? 0 : ATTN_ERANKS;
}

static int mpi_send(void *user, const void *data, size_t bytes, int to, int tag, int64_t *request)
{
    MPI_Request made = MPI_REQUEST_NULL;
    const int error = bytes > ATTN_MESSAGE_BYTES ? MPI_ERR_COUNT
                                                 : MPI_Isend(data, (int)bytes, MPI_BYTE, to, tag, comm_of(user), &made);
    memcpy(request, &made, sizeof made);
    return result_of(error);
}

static int mpi_receive(void *user, void *data, size_t bytes, int from, int tag, int64_t *request)
{
    MPI_Request made = MPI_REQUEST_NULL;
    const int error = bytes > ATTN_MESSAGE_BYTES
                          ? MPI_ERR_COUNT
                          : MPI_Irecv(data, (int)bytes, MPI_BYTE, from, tag, comm_of(user), &made);
    memcpy(request, &made, sizeof made);
    return result_of(error);
}

static int mpi_wait(void *user, int64_t *request)
{
    MPI_Request made;
    (void)user;
    memcpy(&made, request, sizeof made);
    return result_of(MPI_Wait(&made, MPI_STATUS_IGNORE));
}

int attn_mpi_transport(MPI_Comm comm, struct attn_transport *transport)
{
    MPI_Comm own = MPI_COMM_NULL;
    if (!transport) return ATTN_EPOINTER;
    memset(transport, 0, sizeof *transport);
    transport->send = mpi_send;
    transport->receive = mpi_receive;
    transport->wait = mpi_wait;
    int error = MPI_Comm_dup(comm, &own);
    if (error == MPI_SUCCESS) error = MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
    if (error == MPI_SUCCESS) error = MPI_Comm_rank(own, &transport->rank);
    if (error == MPI_SUCCESS) error = MPI_Comm_size(own, &transport->ranks);
    memcpy(&transport->user, &own, sizeof own);
    return result_of(error);
}

int attn_mpi_transport_end(struct attn_transport *transport)
{
    if (!transport) return ATTN_EPOINTER;
    MPI_Comm own = comm_of(transport->user);
    transport->user = NULL;
    return result_of(MPI_Comm_free(&own));
}
/* NOLINTEND(bugprone-sizeof-expression, clang-analyzer-optin.mpi.MPI-Checker) */
