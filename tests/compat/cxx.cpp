/* A program with the C++ bindings of MPI-2, as a compiler of Open MPI links it. Without Open MPI's header it is compiled with the
 * project's own (TERN_BINDINGS), which has the same classes. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mpi.h>
#ifdef TERN_BINDINGS
#include "bindings.h"
#include "constants.h"
#endif

static int rank;

static void expect(bool is_well, const char *what)
{
    if (is_well) return;
    std::printf("rank %d: %s\n", rank, what);
    MPI::COMM_WORLD.Abort(1);
}

static void larger(const void *in, void *inout, int len, const MPI::Datatype &type)
{
    for (int i = 0; i < len; i++)
        if (((const int *)in)[i] > ((int *)inout)[i]) ((int *)inout)[i] = ((const int *)in)[i];
}

static void smaller(const void *in, void *inout, int len, const MPI::Datatype &type)
{
    for (int i = 0; i < len; i++)
        if (((const int *)in)[i] < ((int *)inout)[i]) ((int *)inout)[i] = ((const int *)in)[i];
}

static void messages(int size)
{
    int next = (rank + 1) % size, before = (rank + size - 1) % size, got = -1;
    MPI::Status status;
    MPI::Request request = MPI::COMM_WORLD.Isend(&rank, 1, MPI::INT, next, 7);
    MPI::COMM_WORLD.Recv(&got, 1, MPI::INT, MPI::ANY_SOURCE, 7, status);
    request.Wait();
    expect(got == before && status.Get_source() == before && status.Get_count(MPI::INT) == 1, "a message");
}

/* Two operations have the same function of the bindings, which calls one of the program's for each. */
static void operations(int size)
{
    MPI::Op most, least;
    most.Init(larger, true);
    least.Init(smaller, true);
    int mine[2] = {rank, -rank}, found[2];
    MPI::COMM_WORLD.Allreduce(mine, found, 2, MPI::INT, most);
    expect(found[0] == size - 1 && found[1] == 0, "the largest");
    MPI::COMM_WORLD.Allreduce(mine, found, 2, MPI::INT, least);
    expect(found[0] == 0 && found[1] == 1 - size, "the smallest");
    most.Free();
    least.Free();
}

static void communicators(int size)
{
    MPI::Intracomm half = MPI::COMM_WORLD.Split(rank % 2, rank);
    expect(half.Get_size() == (size + 1 - rank % 2) / 2, "the size of a half");
    int sum = 0, one = 1;
    half.Allreduce(&one, &sum, 1, MPI::INT, MPI::SUM);
    expect(sum == half.Get_size(), "a sum in a half");
    half.Free();
    const int dims[1] = {size};
    const bool periods[1] = {true};
    MPI::Cartcomm ring = MPI::COMM_WORLD.Create_cart(1, dims, periods, false);
    int source, dest;
    ring.Shift(0, 1, source, dest);
    expect(dest == (rank + 1) % size, "a neighbor on a ring");
    ring.Free();
}

static void datatypes(int size)
{
    MPI::Datatype pair = MPI::DOUBLE.Create_contiguous(2);
    pair.Commit();
    double values[2] = {1.5 * rank, 2.5 * rank};
    MPI::COMM_WORLD.Bcast(values, 1, pair, size - 1);
    expect(values[0] == 1.5 * (size - 1) && values[1] == 2.5 * (size - 1), "a broadcast of pairs");
    pair.Free();
}

/* What is called by the table of a base class: the program does not know which class it has. */
static void by_tables(int size)
{
    const int dims[1] = {size};
    const bool periods[1] = {true};
    MPI::Cartcomm ring = MPI::COMM_WORLD.Create_cart(1, dims, periods, false);
    MPI::Comm *comms[2] = {&MPI::COMM_WORLD, &ring};
    for (MPI::Comm *comm : comms) {
        char name[MPI_MAX_OBJECT_NAME];
        int length, got = -1, sum = 0;
        expect(comm->Get_size() == size && comm->Get_rank() == rank && !comm->Is_inter(), "a communicator by its base");
        comm->Set_name("by a table");
        comm->Get_name(name, length);
        expect(length == 10 && std::strcmp(name, "by a table") == 0, "a name by the base");
        comm->Sendrecv(&rank, 1, MPI::INT, (rank + 1) % size, 3, &got, 1, MPI::INT, (rank + size - 1) % size, 3);
        expect(got == (rank + size - 1) % size, "a message by the base");
        comm->Allreduce(&rank, &sum, 1, MPI::INT, MPI::SUM);
        expect(sum == size * (size - 1) / 2, "a sum by the base");
        MPI::Comm &twin = comm->Clone();
        expect(twin.Get_size() == size && twin.Get_topology() == comm->Get_topology(), "a clone");
        twin.Free();
        delete &twin;
    }
    expect(comms[1]->Get_topology() == MPI_CART && ring.Get_dim() == 1, "a topology by the base");
    ring.Free();
}

static void exceptions()
{
    MPI::COMM_WORLD.Set_errhandler(MPI::ERRORS_THROW_EXCEPTIONS);
    MPI::Errhandler handler = MPI::COMM_WORLD.Get_errhandler();
    expect((MPI_Errhandler)handler == (MPI_Errhandler)MPI::ERRORS_THROW_EXCEPTIONS, "the handler that throws");
    handler.Free();
    for (int turn = 0; turn < 3; turn++) {
        int found = MPI_SUCCESS;
        try {
            MPI::COMM_WORLD.Send(&rank, 1, MPI::INT, 1000, 1);
        } catch (const MPI::Exception &error) {
            found = error.Get_error_class();
            expect(std::strlen(error.Get_error_string()) > 0, "the text of an exception");
        }
        expect(found == MPI_ERR_RANK, "an exception");
    }
    MPI::COMM_WORLD.Set_errhandler(MPI::ERRORS_ARE_FATAL);
}

static int errors_seen;

static void handler_of_comm(MPI::Comm &comm, int *code, ...)
{
    errors_seen++;
    expect(comm.Get_rank() == rank, "the communicator of an error");
    if (errors_seen == 2) throw 42;
}

static void handler_of_win(MPI::Win &, int *code, ...)
{
    errors_seen += 100;
}

static void handlers()
{
    MPI::Errhandler handler = MPI::Comm::Create_errhandler(handler_of_comm);
    MPI::COMM_WORLD.Set_errhandler(handler);
    MPI::COMM_WORLD.Send(&rank, 1, MPI::INT, 1000, 1);
    expect(errors_seen == 1, "a handler");
    int caught = 0;
    try {
        MPI::COMM_WORLD.Send(&rank, 1, MPI::INT, 1000, 1);
    } catch (int number) {
        caught = number;
    }
    expect(errors_seen == 2 && caught == 42, "an exception of a handler's own");
    handler.Free();
    MPI::COMM_WORLD.Set_errhandler(MPI::ERRORS_ARE_FATAL);

    MPI_Win made;
    MPI_Win_create(&rank, sizeof rank, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &made);
    MPI::Win win(made);
    handler = MPI::Win::Create_errhandler(handler_of_win);
    win.Set_errhandler(handler);
    win.Call_errhandler(MPI_ERR_OTHER);
    expect(errors_seen == 102, "a handler of a window");
    handler.Free();
    win.Set_errhandler(MPI::ERRORS_THROW_EXCEPTIONS);
    bool is_thrown = false;
    try {
        win.Call_errhandler(MPI_ERR_WIN);
    } catch (const MPI::Exception &error) {
        is_thrown = error.Get_error_code() == MPI_ERR_WIN;
    }
    expect(is_thrown, "an exception of a window");
    win.Free();
}

static int copies, deletions;

static int copy_attribute(const MPI::Comm &comm, int, void *state, void *in, void *out, bool &is_copied)
{
    expect(*(int *)state == 7 && comm.Get_rank() == rank, "the state of an attribute");
    *(void **)out = in;
    is_copied = true;
    copies++;
    return MPI_SUCCESS;
}

static int delete_attribute(MPI::Comm &, int, void *value, void *)
{
    expect(value == &rank, "the value of an attribute");
    deletions++;
    return MPI_SUCCESS;
}

static int copy_of_type(const MPI::Datatype &, int, void *, const void *, void *, bool &is_copied)
{
    is_copied = false;
    copies += 100;
    return MPI_SUCCESS;
}

static int delete_of_type(MPI::Datatype &, int, void *, void *)
{
    deletions += 100;
    return MPI_SUCCESS;
}

static void attributes()
{
    static int state = 7;
    int key = MPI::Comm::Create_keyval(copy_attribute, delete_attribute, &state);
    MPI::COMM_WORLD.Set_attr(key, &rank);
    MPI_Comm made;
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    MPI::Intracomm twin(made);
    void *found = NULL;
    expect(twin.Get_attr(key, &found) && found == &rank && copies == 1, "a copied attribute");
    twin.Free();
    MPI::COMM_WORLD.Delete_attr(key);
    expect(deletions == 2, "attributes deleted");
    key = MPI::Datatype::Create_keyval(copy_of_type, delete_of_type, NULL);
    MPI::Datatype type = MPI::INT.Create_contiguous(3);
    type.Set_attr(key, &rank);
    MPI::Datatype other = type.Dup();
    expect(!other.Get_attr(key, &found) && copies == 101, "an attribute that is not copied");
    other.Free();
    type.Free();
    expect(deletions == 102, "an attribute of a datatype");
}

static int query(void *state, MPI::Status &status)
{
    status.Set_elements(MPI::INT, 5);
    status.Set_cancelled(false);
    status.Set_source(3);
    return MPI_SUCCESS;
}

static int release(void *state)
{
    ++*(int *)state;
    return MPI_SUCCESS;
}

static int cancel(void *state, bool is_complete)
{
    return MPI_SUCCESS;
}

static void generalized_requests()
{
    int released = 0;
    MPI::Grequest request = MPI::Grequest::Start(query, release, cancel, &released);
    expect(!request.Get_status(), "a request that is not complete");
    request.Complete();
    MPI::Status status;
    request.Wait(status);
    expect(status.Get_source() == 3 && status.Get_elements(MPI::INT) == 5 && released == 1, "a generalized request");
}

int main(int argc, char **argv)
{
    MPI::Init(argc, argv);
    rank = MPI::COMM_WORLD.Get_rank();
    int size = MPI::COMM_WORLD.Get_size();
    messages(size);
    operations(size);
    communicators(size);
    datatypes(size);
    by_tables(size);
    exceptions();
    handlers();
    attributes();
    generalized_requests();
    MPI::COMM_WORLD.Barrier();
    if (rank == 0) std::printf("ok\n");
    MPI::Finalize();
    return 0;
}
