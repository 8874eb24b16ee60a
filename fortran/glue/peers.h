/* The arrays of datatypes of MPI_Alltoallw and its kin: one for each rank or neighbor. */
#ifndef TERN_FORTRAN_PEERS_H
#define TERN_FORTRAN_PEERS_H

#include "glue.h"

#pragma GCC visibility push(hidden)

/* On the heap, since a request may need them until it ends. */
typedef struct {
    MPI_Datatype *send, *recv;
} PeerTypes;

/* `in_place` if the types to send by mean nothing. */
PeerTypes peer_types(MPI_Comm comm, In sendtypes, In recvtypes, int in_place);
PeerTypes neighbor_types(MPI_Comm comm, In sendtypes, In recvtypes);

void types_end(PeerTypes *types);

/* Leaves them to a request; to none if the call failed. */
void types_pend(int code, Out request, PeerTypes *types, int persistent);

#pragma GCC visibility pop

#endif
