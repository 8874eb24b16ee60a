/* Limits that programs may reach (MPI-5.0 sections 5.1.5, 9.2, 10 and 7.8): memory that is not there, counts
 * that do not fit, names and keys that are too long; and objects that are not the program's. Each is an error of
 * its class, or is cut as the standard says.
 * ranks: 1
 */
#include "check.h"

static void memory(void)
{
    void *place = NULL;
    CHECK_ERROR(MPI_Alloc_mem((MPI_Aint)1 << 62, MPI_INFO_NULL, &place), MPI_ERR_NO_MEM, "MPI_Alloc_mem");
    CHECK(MPI_Alloc_mem(-1, MPI_INFO_NULL, &place) != MPI_SUCCESS);
    MUST(MPI_Alloc_mem(0, MPI_INFO_NULL, &place));
    MUST(MPI_Free_mem(place));
}

static void types(void)
{
    MPI_Datatype huge;
    MPI_Aint lower = 0, extent = 0;
    int size = 0;
    MUST(MPI_Type_contiguous(1 << 30, MPI_DOUBLE, &huge));
    MUST(MPI_Type_size(huge, &size));
    CHECK_EQ(size, MPI_UNDEFINED);
    MUST(MPI_Type_get_extent(huge, &lower, &extent));
    CHECK_EQ(extent, (MPI_Aint)8 << 30);
    MUST(MPI_Type_commit(&huge));
    CHECK(MPI_Pack_size(1, huge, MPI_COMM_SELF, &size) != MPI_SUCCESS || size == MPI_UNDEFINED);
    MPI_Count large = 0;
    MUST(MPI_Pack_size_c(1, huge, MPI_COMM_SELF, &large));
    CHECK(large >= (MPI_Count)8 << 30);
    MUST(MPI_Type_free(&huge));
}

static void names(void)
{
    char longest[2 * MPI_MAX_OBJECT_NAME], name[MPI_MAX_OBJECT_NAME];
    int length = 0;
    memset(longest, 'n', sizeof longest);
    longest[sizeof longest - 1] = 0;
    MPI_Comm comm;
    MUST(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    /* Longer names are cut, so that they fit with their zero. */
    MUST(MPI_Comm_set_name(comm, longest));
    MUST(MPI_Comm_get_name(comm, name, &length));
    CHECK_EQ(length, MPI_MAX_OBJECT_NAME - 1);
    CHECK_EQ((int)strlen(name), length);
    MUST(MPI_Comm_free(&comm));
}

static void info(void)
{
    char key[MPI_MAX_INFO_KEY + 2], *value = check_alloc(MPI_MAX_INFO_VAL + 2);
    MPI_Info info;
    memset(key, 'k', sizeof key - 1);
    key[sizeof key - 1] = 0;
    memset(value, 'v', MPI_MAX_INFO_VAL + 1);
    value[MPI_MAX_INFO_VAL + 1] = 0;
    MUST(MPI_Info_create(&info));
    CHECK_ERROR(MPI_Info_set(info, key, "value"), MPI_ERR_INFO_KEY, "MPI_Info_set");
    CHECK_ERROR(MPI_Info_set(info, "key", value), MPI_ERR_INFO_VALUE, "MPI_Info_set");
    key[MPI_MAX_INFO_KEY - 1] = 0;
    value[MPI_MAX_INFO_VAL - 1] = 0;
    MUST(MPI_Info_set(info, key, value));
    CHECK_ERROR(MPI_Info_delete(info, "key"), MPI_ERR_INFO_NOKEY, "MPI_Info_delete");
    MUST(MPI_Info_free(&info));
    free(value);
}

/* What the library has made is not the program's to free (sections 5.1.9, 6.9.5 and 7.4.3). */
static void predefined(void)
{
    MPI_Comm world = MPI_COMM_WORLD, self = MPI_COMM_SELF;
    MPI_Datatype type = MPI_DOUBLE, pair = MPI_DOUBLE_INT;
    MPI_Op op = MPI_SUM;
    int size = 0, data = 3, sum = 0;
    CHECK_ERROR(MPI_Comm_free(&world), MPI_ERR_COMM, "MPI_Comm_free");
    CHECK_ERROR(MPI_Comm_free(&self), MPI_ERR_COMM, "MPI_Comm_free");
    CHECK_ERROR(MPI_Type_free(&type), MPI_ERR_TYPE, "MPI_Type_free");
    CHECK_ERROR(MPI_Type_free(&pair), MPI_ERR_TYPE, "MPI_Type_free");
    CHECK_ERROR(MPI_Op_free(&op), MPI_ERR_OP, "MPI_Op_free");
    CHECK(world == MPI_COMM_WORLD && type == MPI_DOUBLE && op == MPI_SUM);
    /* All of them work as before; to commit what is committed does no harm. */
    MUST(MPI_Type_commit(&type));
    MUST(MPI_Type_contiguous(2, MPI_INT, &pair));
    MUST(MPI_Type_commit(&pair));
    MUST(MPI_Type_commit(&pair));
    MUST(MPI_Type_size(pair, &size));
    CHECK_EQ(size, 2 * sizeof(int));
    MUST(MPI_Type_free(&pair));
    CHECK(pair == MPI_DATATYPE_NULL);
    MUST(MPI_Allreduce(&data, &sum, 1, MPI_INT, op, world));
    CHECK_EQ(sum, 3 * check_size);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    memory();
    types();
    names();
    info();
    predefined();
    return check_finish();
}
