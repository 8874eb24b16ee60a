/* Starting processes (MPI-5.0 sections 11.8 and 11.10): spawn, spawn_multiple, arguments, error codes, parents,
 * messages, collectives and communicators across worlds, disconnecting.
 * ranks: 1 2 3
 * timeout: 120
 */
#include "check.h"
#include <unistd.h>

/* What both sides do with the communicator between them. */
static void exchange(MPI_Comm inter, int high)
{
    int rank, size, far;
    MPI_Comm_rank(inter, &rank);
    MPI_Comm_size(inter, &size);
    MPI_Comm_remote_size(inter, &far);
    int is_inter = 0;
    MUST(MPI_Comm_test_inter(inter, &is_inter));
    CHECK(is_inter);

    /* Short and long messages, from each to each. */
    static const int lengths[] = {0, 8, 100, 5000, 300000};
    for (int i = 0; i < 5; i++) {
        int length = lengths[i];
        unsigned char *out = malloc(length + 1), *in = malloc(length + 1);
        MPI_Request *requests = malloc(sizeof *requests * far);
        check_fill(out, length, 10 * i + high * 1000 + rank);
        for (int to = 0; to < far; to++)
            MUST(MPI_Isend(out, length, MPI_BYTE, to, i, inter, &requests[to]));
        for (int from = 0; from < far; from++) {
            MPI_Status status;
            MUST(MPI_Recv(in, length, MPI_BYTE, from, i, inter, &status));
            int count;
            MPI_Get_count(&status, MPI_BYTE, &count);
            CHECK_EQ(count, length);
            CHECK_EQ(status.MPI_SOURCE, from);
            for (int at = 0; at < length; at += 97)
                if (!CHECK_EQ(in[at], check_byte(10 * i + !high * 1000 + from, at))) break;
        }
        MUST(MPI_Waitall(far, requests, MPI_STATUSES_IGNORE));
        free(requests);
        free(out);
        free(in);
    }

    /* Collectives between the two, and within all. */
    int mine = high * 100 + rank, sum = -1, expected = 0;
    MUST(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, inter));
    for (int i = 0; i < far; i++) expected += !high * 100 + i;
    CHECK_EQ(sum, expected);

    MPI_Comm all, again, odd, pair;
    MUST(MPI_Intercomm_merge(inter, high, &all));
    int place, total;
    MPI_Comm_rank(all, &place);
    MPI_Comm_size(all, &total);
    CHECK_EQ(total, size + far);
    CHECK_EQ(place, high ? far + rank : rank);
    MUST(MPI_Allreduce(&place, &sum, 1, MPI_INT, MPI_SUM, all));
    CHECK_EQ(sum, total * (total - 1) / 2);
    MUST(MPI_Comm_dup(all, &again));
    int data = place == total - 1 ? 4711 : 0;
    MUST(MPI_Bcast(&data, 1, MPI_INT, total - 1, again));
    CHECK_EQ(data, 4711);
    MUST(MPI_Comm_split(again, place % 2, -place, &odd));
    int split_rank, split_size;
    MPI_Comm_rank(odd, &split_rank);
    MPI_Comm_size(odd, &split_size);
    CHECK_EQ(split_rank, split_size - 1 - place / 2);
    MUST(MPI_Barrier(odd));

    /* The halves, which are the worlds, are joined anew over the merged communicator. */
    MUST(MPI_Intercomm_create(MPI_COMM_WORLD, 0, all, high ? 0 : size, 5, &pair));
    int pair_far;
    MPI_Comm_remote_size(pair, &pair_far);
    CHECK_EQ(pair_far, far);
    MUST(MPI_Barrier(pair));

    MPI_Group group, others;
    MPI_Comm_group(all, &group);
    MPI_Comm_remote_group(inter, &others);
    int first = 0, there = -1;
    MUST(MPI_Group_translate_ranks(others, 1, &first, group, &there));
    CHECK_EQ(there, high ? 0 : size);
    MPI_Group_free(&group);
    MPI_Group_free(&others);

    /* Who shares a host shares it with its own world at least. */
    MPI_Comm node;
    MUST(MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    MUST(MPI_Barrier(node));
    MPI_Comm_free(&node);

    MPI_Comm_free(&pair);
    MPI_Comm_free(&odd);
    MPI_Comm_free(&again);
    MUST(MPI_Comm_disconnect(&all));
}

static void child(MPI_Comm parent, int argc, char **argv)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    MPI_Comm_get_name(parent, name, &length);
    CHECK_STR(name, "MPI_COMM_PARENT");
    if (argc < 2) {
        int hello = 17;
        MUST(MPI_Send(&hello, 1, MPI_INT, 0, 1, parent));
        MPI_Finalize();
        exit(0);
    }
    if (strcmp(argv[1], "two words") == 0) CHECK_STR(argv[2], "a=b%20\nc");
    int *number, flag;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &flag);
    if (strcmp(argv[1], "second") == 0) CHECK(flag && *number == 1);
    exchange(parent, 1);
    int failures = (int)check_failures;
    MUST(MPI_Reduce(&failures, NULL, 1, MPI_INT, MPI_SUM, 0, parent));
    MUST(MPI_Comm_disconnect(&parent));
    CHECK(parent == MPI_COMM_NULL);
    MUST(MPI_Comm_get_parent(&parent));
    CHECK(parent == MPI_COMM_NULL);
    MPI_Finalize();
    exit(0);
}

static void finish(MPI_Comm inter)
{
    exchange(inter, 0);
    int failures = 0;
    MUST(MPI_Reduce(NULL, &failures, 1, MPI_INT, MPI_SUM, check_rank == 0 ? MPI_ROOT : MPI_PROC_NULL, inter));
    CHECK_EQ(failures, 0);
    MUST(MPI_Comm_disconnect(&inter));
    CHECK(inter == MPI_COMM_NULL);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Comm parent, inter;
    MUST(MPI_Comm_get_parent(&parent));
    if (parent != MPI_COMM_NULL) child(parent, argc, argv);

    int codes[8];
    memset(codes, 0x7f, sizeof codes);
    char *words[] = {"two words", "a=b%20\nc", NULL};
    MUST(MPI_Comm_spawn(argv[0], words, 3, MPI_INFO_NULL, check_size - 1, MPI_COMM_WORLD, &inter, codes));
    for (int i = 0; i < 3; i++) CHECK_EQ(codes[i], MPI_SUCCESS);
    finish(inter);

    /* Two programs, in one world. */
    char *first[] = {"first", NULL}, *second[] = {"second", NULL};
    char *commands[] = {argv[0], argv[0]}, **arguments[] = {first, second};
    int most[] = {1, 2};
    MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    MUST(MPI_Comm_spawn_multiple(2, commands, arguments, most, infos, 0, MPI_COMM_WORLD, &inter, codes));
    int far;
    MPI_Comm_remote_size(inter, &far);
    CHECK_EQ(far, 3);
    finish(inter);

    /* As many as will do, in another directory. */
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "soft", "1:5:2");
    MPI_Info_set(info, "wdir", "/");
    char path[4096];
    if (argv[0][0] != '/' && getcwd(path, 2048)) {
        strcat(path, "/");
        strcat(path, argv[0]);
    } else {
        strcpy(path, argv[0]);
    }
    MUST(MPI_Comm_spawn(path, first, 2, info, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE));
    MPI_Comm_remote_size(inter, &far);
    CHECK_EQ(far, 1);
    finish(inter);
    MPI_Info_free(&info);

    /* Each starts one of its own at the same time. */
    MUST(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter, MPI_ERRCODES_IGNORE));
    int hello = 0;
    MUST(MPI_Recv(&hello, 1, MPI_INT, 0, 1, inter, MPI_STATUS_IGNORE));
    CHECK_EQ(hello, 17);
    /* It stays connected up to the end. */
    return check_finish();
}
