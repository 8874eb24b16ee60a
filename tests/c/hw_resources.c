/* Hardware resources (MPI-5.0 sections 7.4.2 and 9.1.2): what MPI_Get_hw_resource_info tells, and communicators
 * by such a resource, by a process set, and by whichever divides the members.
 * ranks: 1 2 4
 */
#define _GNU_SOURCE
#include "check.h"
#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* The members are those who should be, and can talk. */
static void use(MPI_Comm comm)
{
    int rank = 1, sum = 0, size;
    MPI_Comm_size(comm, &size);
    MUST(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK_EQ(sum, size);
}

static MPI_Info resource(const char *key, const char *name)
{
    MPI_Info info;
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, key, name));
    return info;
}

/* Who is restricted to a resource gets a communicator, and only he. */
static int guided(int split_type)
{
    MPI_Info all;
    int keys, restricted = 0;
    MUST(MPI_Get_hw_resource_info(&all));
    MUST(MPI_Info_get_nkeys(all, &keys));
    for (int i = 0; i < keys; i++) {
        char name[MPI_MAX_INFO_KEY + 1], value[8] = "";
        int length = sizeof value, flag, most, size;
        MPI_Comm comm;
        MUST(MPI_Info_get_nthkey(all, i, name));
        MUST(MPI_Info_get_string(all, name, &length, value, &flag));
        CHECK(flag && (!strcmp(value, "true") || !strcmp(value, "false")));
        MPI_Info info = resource("mpi_hw_resource_type", name);
        MUST(MPI_Comm_split_type(MPI_COMM_WORLD, split_type, check_rank, info, &comm));
        MPI_Info_free(&info);
        CHECK_EQ(comm != MPI_COMM_NULL, !strcmp(value, "true"));
        if (comm == MPI_COMM_NULL)
            continue;
        restricted++;
        MPI_Comm_size(comm, &size);
        MUST(MPI_Allreduce(&size, &most, 1, MPI_INT, MPI_MAX, comm));
        CHECK_EQ(size, most);
        use(comm);
        MPI_Comm_free(&comm);
    }
    MPI_Info_free(&all);
    return restricted;
}

/* Rank r may run on the r-th processor of this process's: ranks that share one are together. */
static int bind_to_one(void)
{
    cpu_set_t own, one;
    int nth = 0;
    if (sched_getaffinity(0, sizeof own, &own) || CPU_COUNT(&own) < 1)
        return -1;
    int wanted = check_rank % CPU_COUNT(&own);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &own) && nth++ == wanted) {
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            return sched_setaffinity(0, sizeof one, &one) ? -1 : cpu;
        }
    }
    return -1;
}

/* The library tells by which resource it divided: another split by that one gives the same members. */
static void resource_is_told(MPI_Info info, MPI_Comm divided)
{
    char name[64] = "";
    int length = sizeof name, flag = 0, result;
    MPI_Comm guided;
    MUST(MPI_Info_get_string(info, "mpi_hw_resource_type", &length, name, &flag));
    CHECK(flag);
    MUST(MPI_Comm_split_type(divided, MPI_COMM_TYPE_HW_GUIDED, 0, info, &guided));
    CHECK(guided != MPI_COMM_NULL);
    MUST(MPI_Comm_compare(divided, guided, &result));
    CHECK(result == MPI_CONGRUENT);
    MPI_Comm_free(&guided);
}

static void bound(void)
{
    int mine = bind_to_one(), least;
    MPI_Comm comm, shared, both;
    MUST(MPI_Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    if (least < 0)
        return;
    CHECK(guided(MPI_COMM_TYPE_HW_GUIDED) >= 1);
    CHECK(guided(MPI_COMM_TYPE_RESOURCE_GUIDED) >= 1);

    MPI_Info info = resource("mpi_hw_resource_type", "hwloc://PU");
    MUST(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &comm));
    MPI_Info_free(&info);
    MUST(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared));
    MUST(MPI_Comm_split(shared, mine, 0, &both));
    if (comm != MPI_COMM_NULL) {
        int result;
        MUST(MPI_Comm_compare(comm, both, &result));
        CHECK(result == MPI_CONGRUENT);
        MPI_Comm_free(&comm);
    }
    /* Each part is smaller than the whole. */
    MUST(MPI_Info_create(&info));
    MUST(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED, 0, info, &comm));
    if (comm != MPI_COMM_NULL) {
        int size;
        MPI_Comm_size(comm, &size);
        CHECK(size < check_size);
        use(comm);
        resource_is_told(info, comm);
        MPI_Comm_free(&comm);
    }
    MPI_Info_free(&info);
    MPI_Comm_free(&both);
    MPI_Comm_free(&shared);
}

/* Some want no part; nobody may wait for them, or they for others. */
static void undivided(void)
{
    MPI_Comm comm;
    int type = check_rank == 0 ? MPI_UNDEFINED : MPI_COMM_TYPE_HW_UNGUIDED;
    MUST(MPI_Comm_split_type(MPI_COMM_WORLD, type, 0, MPI_INFO_NULL, &comm));
    CHECK(check_rank > 0 || comm == MPI_COMM_NULL);
    if (comm != MPI_COMM_NULL) {
        use(comm);
        MPI_Comm_free(&comm);
    }
    MPI_Info none = resource("mpi_hw_resource_type", "hwloc://no such thing");
    MUST(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, none, &comm));
    CHECK(comm == MPI_COMM_NULL);
    MPI_Info_free(&none);
}

static void sets(void)
{
    const char *names[] = {"mpi://WORLD", "mpi://SELF", "mpi://none"};
    const int sizes[] = {check_size, 1, 0};
    for (int i = 0; i < 3; i++) {
        MPI_Comm comm;
        MPI_Info info = resource("mpi_pset_name", names[i]);
        int size = 0;
        MUST(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, info, &comm));
        if (comm != MPI_COMM_NULL) {
            MPI_Comm_size(comm, &size);
            MPI_Comm_free(&comm);
        }
        CHECK_EQ(size, sizes[i]);
        MPI_Info_free(&info);
    }
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    guided(MPI_COMM_TYPE_HW_GUIDED);
    undivided();
    sets();
    bound();
    undivided();
    return check_finish();
}
