/* Freed and foreign handles, and buffers too small to pack: MPI-5.0 calls their use erroneous; Tern promises
 * the class of the handle's kind and never a crash. (Other libraries may crash here.)
 * ranks: 1
 */
#include "check.h"

/* Values that no live object can have: small odd ones, huge ones, garbage. */
static const uintptr_t garbage[] = {1,          0xFFF,      0x1000,         0x12345678,
                                    0x7FFFFFFF, 0x80000000, 0xDEADBEEFCAFE, ~(uintptr_t)0};
enum { GARBAGE = sizeof garbage / sizeof *garbage };

static void foreign(void)
{
    int value = 0, n;
    for (int g = 0; g < GARBAGE; g++) {
        MPI_Comm comm = (MPI_Comm)garbage[g];
        MPI_Datatype type = (MPI_Datatype)garbage[g];
        MPI_Group group = (MPI_Group)garbage[g];
        MPI_Op op = (MPI_Op)garbage[g];
        MPI_Request request = (MPI_Request)garbage[g];
        MPI_Info info = (MPI_Info)garbage[g];
        MPI_Errhandler handler = (MPI_Errhandler)garbage[g];
        CHECK_ERROR(MPI_Comm_rank(comm, &n), MPI_ERR_COMM, "MPI_Comm_rank");
        CHECK_ERROR(MPI_Send(&value, 1, MPI_INT, 0, 0, comm), MPI_ERR_COMM, "MPI_Send");
        CHECK_ERROR(MPI_Barrier(comm), MPI_ERR_COMM, "MPI_Barrier");
        CHECK_ERROR(MPI_Type_size(type, &n), MPI_ERR_TYPE, "MPI_Type_size");
        CHECK_ERROR(MPI_Send(&value, 1, type, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE, "MPI_Send");
        CHECK_ERROR(MPI_Group_size(group, &n), MPI_ERR_GROUP, "MPI_Group_size");
        CHECK_ERROR(MPI_Allreduce(&value, &n, 1, MPI_INT, op, MPI_COMM_WORLD), MPI_ERR_OP, "MPI_Allreduce");
        CHECK_ERROR(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_REQUEST, "MPI_Wait");
        CHECK_ERROR(MPI_Info_get_nkeys(info, &n), MPI_ERR_INFO, "MPI_Info_get_nkeys");
        CHECK_ERROR(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler), MPI_ERR_ERRHANDLER, "MPI_Comm_set_errhandler");
    }
}

static void freed(void)
{
    MPI_Comm comm, comm_copy;
    MPI_Datatype type, type_copy;
    MPI_Group group, group_copy;
    MPI_Request request, request_copy;
    MPI_Info info, info_copy;
    int n, value = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm), comm_copy = comm, MPI_Comm_free(&comm);
    CHECK_ERROR(MPI_Comm_rank(comm_copy, &n), MPI_ERR_COMM, "MPI_Comm_rank");
    CHECK_ERROR(MPI_Comm_free(&comm_copy), MPI_ERR_COMM, "MPI_Comm_free");
    MPI_Type_contiguous(2, MPI_INT, &type), type_copy = type, MPI_Type_free(&type);
    CHECK_ERROR(MPI_Type_size(type_copy, &n), MPI_ERR_TYPE, "MPI_Type_size");
    CHECK_ERROR(MPI_Type_free(&type_copy), MPI_ERR_TYPE, "MPI_Type_free");
    MPI_Comm_group(MPI_COMM_WORLD, &group), group_copy = group, MPI_Group_free(&group);
    CHECK_ERROR(MPI_Group_size(group_copy, &n), MPI_ERR_GROUP, "MPI_Group_size");
    MPI_Recv_init(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request), request_copy = request;
    MPI_Request_free(&request);
    CHECK_ERROR(MPI_Start(&request_copy), MPI_ERR_REQUEST, "MPI_Start");
    CHECK_ERROR(MPI_Wait(&request_copy, MPI_STATUS_IGNORE), MPI_ERR_REQUEST, "MPI_Wait");
    MPI_Info_create(&info), info_copy = info, MPI_Info_free(&info);
    CHECK_ERROR(MPI_Info_get_nkeys(info_copy, &n), MPI_ERR_INFO, "MPI_Info_get_nkeys");
    /* A handle's slot is used again: the old value must not reach the new object. */
    for (int i = 0; i < 100; i++) {
        MPI_Info_create(&info);
        CHECK(info != info_copy);
        MPI_Info_free(&info);
    }
}

/* A handle of one kind given where another is wanted. */
static void wrong_kind(void)
{
    int n;
    MPI_Info info;
    MPI_Info_create(&info);
    CHECK_ERROR(MPI_Comm_rank((MPI_Comm)(uintptr_t)MPI_INT, &n), MPI_ERR_COMM, "MPI_Comm_rank");
    CHECK_ERROR(MPI_Comm_rank((MPI_Comm)(uintptr_t)info, &n), MPI_ERR_COMM, "MPI_Comm_rank");
    CHECK_ERROR(MPI_Type_size((MPI_Datatype)(uintptr_t)MPI_COMM_WORLD, &n), MPI_ERR_TYPE, "MPI_Type_size");
    MPI_Info_free(&info);
}

/* Handles survive the trip to the ABI's integers (section 20.3). */
static void conversions(void)
{
    MPI_Comm comm;
    MPI_Datatype type;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Type_contiguous(2, MPI_INT, &type);
    CHECK(MPI_Comm_fromint(MPI_Comm_toint(comm)) == comm);
    CHECK(MPI_Comm_fromint(MPI_Comm_toint(MPI_COMM_WORLD)) == MPI_COMM_WORLD);
    CHECK(MPI_Type_fromint(MPI_Type_toint(type)) == type);
    CHECK_EQ(MPI_Type_toint(MPI_INT), (int)(intptr_t)MPI_INT);
    MPI_Comm_free(&comm), MPI_Type_free(&type);
}

/* Packing into too little room, and unpacking from too little. */
static void pack_overflow(void)
{
    char small[2] = {0};
    int position = 0, value = 7;
    CHECK(MPI_Pack(&value, 1, MPI_INT, small, 2, &position, MPI_COMM_WORLD) != MPI_SUCCESS);
    position = 0;
    CHECK(MPI_Unpack(small, 2, &position, &value, 1, MPI_INT, MPI_COMM_WORLD) != MPI_SUCCESS);
    CHECK_EQ(value, 7);
    position = 5;
    CHECK(MPI_Unpack(small, 2, &position, &value, 1, MPI_CHAR, MPI_COMM_WORLD) != MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    foreign();
    freed();
    wrong_kind();
    conversions();
    pack_overflow();
    return check_finish();
}
