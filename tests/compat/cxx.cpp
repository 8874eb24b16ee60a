/* A program with the C++ bindings of MPI-2, which a compiler of Open MPI links. */
#include <cstdio>
#include <cstdlib>
#include <mpi.h>

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

int main(int argc, char **argv)
{
    MPI::Init(argc, argv);
    rank = MPI::COMM_WORLD.Get_rank();
    int size = MPI::COMM_WORLD.Get_size();
    messages(size);
    operations(size);
    communicators(size);
    datatypes(size);
    MPI::COMM_WORLD.Barrier();
    if (rank == 0) std::printf("ok\n");
    MPI::Finalize();
    return 0;
}
