/* Datatypes for each rank or neighbor: see peers.h. */
#include "peers.h"

static MPI_Datatype *converted(In integers, int n)
{
    MPI_Datatype *types = malloc(((size_t)n + 1) * sizeof *types);
    if (types == NULL) abort();
    for (int i = 0; i < n; i++) types[i] = Type(&integers[i]);
    return types;
}

PeerTypes peer_types(MPI_Comm comm, In sendtypes, In recvtypes, int in_place)
{
    int between = 0, n = 0;
    if (comm != MPI_COMM_NULL) {
        PMPI_Comm_test_inter(comm, &between);
        if (between)
            PMPI_Comm_remote_size(comm, &n);
        else
            PMPI_Comm_size(comm, &n);
    }
    return (PeerTypes){converted(sendtypes, in_place ? 0 : n), converted(recvtypes, n)};
}

/* How many neighbors send to this rank and hear of it, by the kind of topology. */
static void degrees(MPI_Comm comm, int *in, int *out)
{
    int kind = MPI_UNDEFINED, rank, weighted;
    *in = *out = 0;
    if (comm != MPI_COMM_NULL) PMPI_Topo_test(comm, &kind);
    switch (kind) {
    case MPI_CART:
        PMPI_Cartdim_get(comm, in);
        *in *= 2;
        *out = *in;
        break;
    case MPI_GRAPH:
        PMPI_Comm_rank(comm, &rank);
        PMPI_Graph_neighbors_count(comm, rank, in);
        *out = *in;
        break;
    case MPI_DIST_GRAPH:
        PMPI_Dist_graph_neighbors_count(comm, in, out, &weighted);
        break;
    }
}

PeerTypes neighbor_types(MPI_Comm comm, In sendtypes, In recvtypes)
{
    int in, out;
    degrees(comm, &in, &out);
    return (PeerTypes){converted(sendtypes, out), converted(recvtypes, in)};
}

void types_end(PeerTypes *types)
{
    free(types->send);
    free(types->recv);
}

void types_pend(int code, Out request, PeerTypes *types, int persistent)
{
    if (code != MPI_SUCCESS) {
        types_end(types);
        return;
    }
    Whole send = {.copy = types->send}, recv = {.copy = types->recv};
    pend(Request(request), &send, persistent);
    pend(Request(request), &recv, persistent);
}
