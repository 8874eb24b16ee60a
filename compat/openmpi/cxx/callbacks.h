/* Functions of the program that MPI calls. They get objects, and may throw. */
#ifndef TERN_CXX_CALLBACKS_H
#define TERN_CXX_CALLBACKS_H

#include "bindings.h"

/* No exception passes through MPI. The one that is under way is kept, and the call of the program's throws it when MPI
 * has returned (errors.cpp). It is said to MPI as an error. */
int tern_keep_exception();

/* What a function of the program returns, or that it has thrown. */
template <typename Call> int tern_guarded(Call call)
{
    try {
        return call();
    } catch (...) {
        return tern_keep_exception();
    }
}

/* A communicator as an object of the class that fits it. */
template <typename Call> auto tern_with_comm(MPI_Comm handle, Call call)
{
    int flag = 0, kind = MPI_UNDEFINED;
    PMPI_Comm_test_inter(handle, &flag);
    if (flag) {
        MPI::Intercomm comm(handle);
        return call(comm);
    }
    PMPI_Topo_test(handle, &kind);
    if (kind == MPI_CART) {
        MPI::Cartcomm comm(handle);
        return call(comm);
    }
    if (kind == MPI_GRAPH) {
        MPI::Graphcomm comm(handle);
        return call(comm);
    }
    MPI::Intracomm comm(handle);
    return call(comm);
}

#endif
