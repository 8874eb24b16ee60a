/* Handles as integers (MPI-5.0 section 20.5): every kind there and back, predefined and made; what the ABI says
 * of itself, and of Fortran where a layer has told it (section 20.3).
 * ranks: 1
 */
#include <unistd.h>
#include "check.h"

#define THERE_AND_BACK(Kind, handle) \
    do { \
        MPI_##Kind there_ = (handle); \
        CHECK(MPI_##Kind##_fromint(MPI_##Kind##_toint(there_)) == there_); \
    } while (0)

static void predefined(void)
{
    CHECK(MPI_Type_fromint(MPI_Type_toint(MPI_DOUBLE)) == MPI_DOUBLE);
    CHECK(MPI_Type_fromint(MPI_Type_toint(MPI_DATATYPE_NULL)) == MPI_DATATYPE_NULL);
    THERE_AND_BACK(Comm, MPI_COMM_SELF);
    THERE_AND_BACK(Comm, MPI_COMM_NULL);
    THERE_AND_BACK(Errhandler, MPI_ERRORS_RETURN);
    THERE_AND_BACK(Errhandler, MPI_ERRHANDLER_NULL);
    THERE_AND_BACK(File, MPI_FILE_NULL);
    THERE_AND_BACK(Group, MPI_GROUP_EMPTY);
    THERE_AND_BACK(Group, MPI_GROUP_NULL);
    THERE_AND_BACK(Info, MPI_INFO_ENV);
    THERE_AND_BACK(Info, MPI_INFO_NULL);
    THERE_AND_BACK(Message, MPI_MESSAGE_NO_PROC);
    THERE_AND_BACK(Message, MPI_MESSAGE_NULL);
    THERE_AND_BACK(Op, MPI_SUM);
    THERE_AND_BACK(Op, MPI_OP_NULL);
    THERE_AND_BACK(Request, MPI_REQUEST_NULL);
    THERE_AND_BACK(Session, MPI_SESSION_NULL);
    THERE_AND_BACK(Win, MPI_WIN_NULL);
    /* The ABI fixes the values of predefined handles, so the integers are the same. */
    CHECK_EQ(MPI_Comm_toint(MPI_COMM_WORLD), (int)(intptr_t)MPI_COMM_WORLD);
    CHECK_EQ(MPI_Op_toint(MPI_SUM), (int)(intptr_t)MPI_SUM);
    CHECK_EQ(MPI_Group_toint(MPI_GROUP_EMPTY), (int)(intptr_t)MPI_GROUP_EMPTY);
}

static void add(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *length; i++) ((int *)inout)[i] += ((int *)in)[i];
}

static void on_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
}

static void made(void)
{
    MPI_Group group;
    MPI_Info info;
    MPI_Op op;
    MPI_Errhandler handler;
    MPI_Request request;
    MPI_Message message;
    MPI_File file;
    int value = 1, in = 0;
    char name[64];
    MUST(MPI_Comm_group(MPI_COMM_WORLD, &group));
    THERE_AND_BACK(Group, group);
    MUST(MPI_Info_create(&info));
    THERE_AND_BACK(Info, info);
    MUST(MPI_Op_create(add, 1, &op));
    THERE_AND_BACK(Op, op);
    MUST(MPI_Comm_create_errhandler(on_error, &handler));
    THERE_AND_BACK(Errhandler, handler);
    MUST(MPI_Irecv(&in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request));
    THERE_AND_BACK(Request, request);
    MUST(MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_SELF));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MUST(MPI_Send(&value, 1, MPI_INT, 0, 2, MPI_COMM_SELF));
    MUST(MPI_Mprobe(0, 2, MPI_COMM_SELF, &message, MPI_STATUS_IGNORE));
    THERE_AND_BACK(Message, message);
    MUST(MPI_Mrecv(&in, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
    snprintf(name, sizeof name, "/tmp/handles-%d", (int)getpid());
    int mode = MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE;
    MUST(MPI_File_open(MPI_COMM_SELF, name, mode, MPI_INFO_NULL, &file));
    THERE_AND_BACK(File, file);
    MUST(MPI_File_close(&file));
    MUST(MPI_Errhandler_free(&handler));
    MUST(MPI_Op_free(&op));
    MUST(MPI_Info_free(&info));
    MUST(MPI_Group_free(&group));
}

static int number_of(MPI_Info info, const char *key)
{
    char value[32] = "";
    int room = sizeof value, flag = 0;
    MUST(MPI_Info_get_string(info, key, &room, value, &flag));
    CHECK(flag);
    return atoi(value);
}

static void abi(void)
{
    MPI_Info info;
    int major = 0, minor = -1;
    MUST(MPI_Abi_get_version(&major, &minor));
    CHECK_EQ(major, MPI_ABI_VERSION);
    CHECK_EQ(minor, MPI_ABI_SUBVERSION);
    MUST(MPI_Abi_get_info(&info));
    CHECK_EQ(number_of(info, "mpi_aint_size"), sizeof(MPI_Aint));
    CHECK_EQ(number_of(info, "mpi_count_size"), sizeof(MPI_Count));
    CHECK_EQ(number_of(info, "mpi_offset_size"), sizeof(MPI_Offset));
    MUST(MPI_Info_free(&info));
}

/* A program in C is its own Fortran layer here: what it tells comes back, and cannot be told otherwise. */
static void fortran(void)
{
    MPI_Info none, facts, told;
    int is_set = -1;
    int8_t yes = 1, no = 0, other = 3, seen_yes = -1, seen_no = -1;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MUST(MPI_Abi_get_fortran_info(&none));
    CHECK(none == MPI_INFO_NULL);
    MUST(MPI_Info_create(&facts));
    MUST(MPI_Info_set(facts, "mpi_integer_size", "4"));
    MUST(MPI_Abi_set_fortran_info(facts));
    MUST(MPI_Abi_set_fortran_info(facts));
    MUST(MPI_Abi_get_fortran_info(&told));
    CHECK_EQ(number_of(told, "mpi_integer_size"), 4);
    MUST(MPI_Info_free(&told));
    MUST(MPI_Info_set(facts, "mpi_integer_size", "8"));
    CHECK(MPI_Abi_set_fortran_info(facts) != MPI_SUCCESS);
    MUST(MPI_Info_free(&facts));
    MUST(MPI_Abi_get_fortran_booleans(1, &seen_yes, &seen_no, &is_set));
    CHECK_EQ(is_set, 0);
    MUST(MPI_Abi_set_fortran_booleans(1, &yes, &no));
    MUST(MPI_Abi_get_fortran_booleans(1, &seen_yes, &seen_no, &is_set));
    CHECK(is_set && seen_yes == yes && seen_no == no);
    CHECK(MPI_Abi_set_fortran_booleans(1, &other, &no) != MPI_SUCCESS);
    CHECK(MPI_Abi_set_fortran_booleans(3, &yes, &no) != MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    predefined();
    made();
    abi();
    fortran();
    return check_finish();
}
