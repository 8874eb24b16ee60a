/*
 * A walk through what the standard ABI fixes, in one program: handle values, special addresses, the
 * layout of a status, callbacks, predefined callbacks, large counts, integers made from handles. It is
 * compiled against one library and run on another. Each rank prints "ok RANK of SIZE on LIBRARY".
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "rank %d: %s:%d: %s\n", rank, __FILE__, __LINE__, #condition); \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                 \
        }                                                                                 \
    } while (0)

/* Round the ring: the status of the receive tells the sender, the tag and the size. */
static void ring(void)
{
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    double out[3] = {rank, rank + 0.5, rank * 2.0}, in[3] = {0};
    MPI_Request request;
    MPI_Status status;
    int count;
    MPI_Irecv(in, 3, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
    MPI_Send(out, 3, MPI_DOUBLE, next, 7 + next, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    CHECK(request == MPI_REQUEST_NULL);
    CHECK(status.MPI_SOURCE == previous && status.MPI_TAG == 7 + rank);
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    CHECK(count == 3 && in[0] == previous && in[1] == previous + 0.5);
    MPI_Recv(in, 3, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status);
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
}

static void statuses_of_many(void)
{
    int out[2] = {rank, -rank}, in[2] = {0};
    MPI_Request requests[4];
    MPI_Status statuses[4];
    for (int i = 0; i < 2; i++) {
        MPI_Irecv(&in[i], 1, MPI_INT, rank, 20 + i, MPI_COMM_WORLD, &requests[i]);
        MPI_Isend(&out[i], 1, MPI_INT, rank, 20 + i, MPI_COMM_WORLD, &requests[2 + i]);
    }
    MPI_Waitall(4, requests, statuses);
    CHECK(statuses[0].MPI_TAG == 20 && statuses[1].MPI_TAG == 21 && statuses[1].MPI_SOURCE == rank);
    CHECK(in[0] == rank && in[1] == -rank);
}

static void larger_of_pairs(void *in, void *inout, int *length, MPI_Datatype *type)
{
    if (*type != MPI_INT)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < *length; i++)
        if (((int *)in)[i] > ((int *)inout)[i])
            ((int *)inout)[i] = ((int *)in)[i];
}

static void reductions(void)
{
    int sum = rank, largest = -1;
    struct { double value; int index; } mine = {size - rank, rank}, least;
    MPI_Op op;
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == size * (size - 1) / 2);
    MPI_Allreduce(&mine, &least, 1, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD);
    CHECK(least.value == 1 && least.index == size - 1);
    MPI_Op_create(larger_of_pairs, 1, &op);
    MPI_Allreduce(&rank, &largest, 1, MPI_INT, op, MPI_COMM_WORLD);
    CHECK(largest == size - 1);
    MPI_Op_free(&op);
    CHECK(op == MPI_OP_NULL);
}

static void datatypes(void)
{
    struct { char letter; double number; } out = {'a', 1.5}, in = {0, 0};
    int lengths[2] = {1, 1}, integers, addresses, types, combiner;
    MPI_Aint places[2], base;
    MPI_Datatype parts[2] = {MPI_CHAR, MPI_DOUBLE}, type;
    MPI_Count bytes;
    MPI_Get_address(&out, &base);
    MPI_Get_address(&out.letter, &places[0]);
    MPI_Get_address(&out.number, &places[1]);
    places[0] = MPI_Aint_diff(places[0], base);
    places[1] = MPI_Aint_diff(places[1], base);
    MPI_Type_create_struct(2, lengths, places, parts, &type);
    MPI_Type_commit(&type);
    MPI_Type_size_c(type, &bytes);
    CHECK(bytes == 9);
    MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    CHECK(combiner == MPI_COMBINER_STRUCT && integers == 3 && addresses == 2 && types == 2);
    MPI_Sendrecv(&out, 1, type, rank, 3, &in, 1, type, rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(in.letter == 'a' && in.number == 1.5);
    MPI_Type_free(&type);
    CHECK(type == MPI_DATATYPE_NULL);
}

static int deleted;

static int count_deletion(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value;
    ++*(int *)extra;
    return MPI_SUCCESS;
}

/* MPI_COMM_DUP_FN is the integer 1 in the shape of a function. */
static void attributes(void)
{
    int copied_key, kept_key, flag, *bound, answer = 42;
    void *value;
    MPI_Comm copy;
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, count_deletion, &copied_key, &deleted);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &kept_key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, copied_key, &answer);
    MPI_Comm_set_attr(MPI_COMM_SELF, kept_key, &answer);
    MPI_Comm_dup(MPI_COMM_SELF, &copy);
    MPI_Comm_get_attr(copy, copied_key, &value, &flag);
    CHECK(flag && value == &answer);
    MPI_Comm_get_attr(copy, kept_key, &value, &flag);
    CHECK(!flag);
    MPI_Comm_free(&copy);
    CHECK(deleted == 1 && copy == MPI_COMM_NULL);
    MPI_Comm_delete_attr(MPI_COMM_SELF, copied_key);
    MPI_Comm_delete_attr(MPI_COMM_SELF, kept_key);
    MPI_Comm_free_keyval(&copied_key);
    MPI_Comm_free_keyval(&kept_key);
    CHECK(copied_key == MPI_KEYVAL_INVALID);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &flag);
    CHECK(flag && *bound >= 32767);
}

static int seen_class;

static void note_error(MPI_Comm *comm, int *code, ...)
{
    MPI_Error_class(*code, &seen_class);
    if (*comm != MPI_COMM_WORLD)
        seen_class = -1;
}

static void error_handlers(void)
{
    MPI_Errhandler handler, before;
    int code, class, length;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
    CHECK(before == MPI_ERRORS_ARE_FATAL);
    MPI_Comm_create_errhandler(note_error, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Send(&rank, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
    CHECK(seen_class == MPI_ERR_RANK);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&handler);
    code = MPI_Send(&rank, 1, MPI_INT, 0, -99, MPI_COMM_WORLD);
    MPI_Error_class(code, &class);
    CHECK(class == MPI_ERR_TAG);
    MPI_Error_string(code, text, &length);
    CHECK(length == (int)strlen(text) && length > 0);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, before);
}

static void communicators(void)
{
    MPI_Comm half;
    MPI_Group whole, part;
    MPI_Info info;
    int part_rank, result, length, flag, small = 4;
    char name[MPI_MAX_OBJECT_NAME], value[8];
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Comm_rank(half, &part_rank);
    CHECK(part_rank == rank / 2);
    MPI_Comm_group(MPI_COMM_WORLD, &whole);
    MPI_Comm_group(half, &part);
    MPI_Group_compare(whole, part, &result);
    CHECK(result == (size == 1 ? MPI_IDENT : MPI_UNEQUAL));
    MPI_Group_free(&whole);
    MPI_Group_free(&part);
    MPI_Comm_free(&half);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? 0 : MPI_UNDEFINED, 0, &half);
    CHECK((half == MPI_COMM_NULL) == (rank != 0));
    if (half != MPI_COMM_NULL)
        MPI_Comm_free(&half);
    MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
    CHECK(strcmp(name, "MPI_COMM_WORLD") == 0);
    MPI_Info_create(&info);
    MPI_Info_set(info, "key", "abc");
    MPI_Info_get_string(info, "key", &small, value, &flag);
    CHECK(flag && small == 4 && strcmp(value, "abc") == 0);
    MPI_Info_free(&info);
    CHECK(info == MPI_INFO_NULL);
}

static void integers_of_handles(void)
{
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    CHECK(MPI_Comm_toint(MPI_COMM_WORLD) == 0x101 && MPI_Type_toint(MPI_BYTE) == 0x247);
    CHECK(MPI_Comm_fromint(MPI_Comm_toint(copy)) == copy);
    CHECK(MPI_Op_fromint(0x21) == MPI_SUM);
    MPI_Comm_free(&copy);
}

static void large_counts(void)
{
    MPI_Status status;
    MPI_Count count;
    char out[4] = "abc", in[4] = "";
    MPI_Sendrecv_c(out, 4, MPI_CHAR, rank, 1, in, 4, MPI_CHAR, rank, 1, MPI_COMM_WORLD, &status);
    MPI_Get_count_c(&status, MPI_CHAR, &count);
    CHECK(count == 4 && strcmp(in, "abc") == 0);
}

int main(int argc, char **argv)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length, level, major, minor;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(level >= MPI_THREAD_SINGLE && level <= MPI_THREAD_MULTIPLE);
    MPI_Abi_get_version(&major, &minor);
    CHECK(major == MPI_ABI_VERSION);
    ring();
    statuses_of_many();
    reductions();
    datatypes();
    attributes();
    error_handlers();
    communicators();
    integers_of_handles();
    large_counts();
    MPI_Get_library_version(library, &length);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("ok %d of %d on %.12s\n", rank, size, library);
    return MPI_Finalize();
}
