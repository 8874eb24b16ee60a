/* Environment, names, memory, clocks, statuses (MPI-5.0 sections 2.x, 3.2.5, 7.8, 9.1, 9.2, 9.6).
 * ranks: 1 3
 */
#include "check.h"

static void inquiries(void)
{
    int version = 0, subversion = -1, length = 0, major = -2, minor = -2;
    char name[MPI_MAX_PROCESSOR_NAME], library[MPI_MAX_LIBRARY_VERSION_STRING];
    MUST(MPI_Get_version(&version, &subversion));
    CHECK_EQ(version, MPI_VERSION);
    CHECK_EQ(subversion, MPI_SUBVERSION);
    MUST(MPI_Get_library_version(library, &length));
    CHECK(length > 0 && length < MPI_MAX_LIBRARY_VERSION_STRING);
    CHECK_EQ(strlen(library), length);
    MUST(MPI_Get_processor_name(name, &length));
    CHECK(length > 0 && length < MPI_MAX_PROCESSOR_NAME);
    CHECK_EQ(strlen(name), length);
    MUST(MPI_Abi_get_version(&major, &minor));
#ifdef MPI_ABI_VERSION
    CHECK_EQ(major, MPI_ABI_VERSION);
    CHECK_EQ(minor, MPI_ABI_SUBVERSION);
#else
    CHECK(major < 0 && minor < 0);
#endif
    char resources[64];
    MPI_Info info;
    int flag;
    /* Collective over the processes of the calling one's machine at most: it must not hang or fail. */
    MUST(MPI_Get_hw_resource_info(&info));
    MPI_Info_get(info, "tern://none", 63, resources, &flag);
    CHECK(!flag);
    MPI_Info_free(&info);
}

static void clocks(void)
{
    double start = MPI_Wtime(), tick = MPI_Wtick(), last = start;
    CHECK(tick > 0 && tick < 1e-3);
    for (int i = 0; i < 1000; i++) {
        double now = MPI_Wtime();
        CHECK(now >= last);
        last = now;
    }
    CHECK(last - start < 10);
}

static void memory(void)
{
    void *p = NULL;
    MUST(MPI_Alloc_mem(100000, MPI_INFO_NULL, &p));
    CHECK(p != NULL);
    CHECK_EQ((uintptr_t)p % 8, 0);
    memset(p, 1, 100000);
    MUST(MPI_Free_mem(p));
    MUST(MPI_Alloc_mem(0, MPI_INFO_NULL, &p));
    MPI_Free_mem(p);
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_minimum_memory_alignment", "4096");
    MUST(MPI_Alloc_mem(10, info, &p));
    CHECK_EQ((uintptr_t)p % 4096, 0);
    MPI_Free_mem(p);
    MPI_Info_free(&info);
}

static void statuses(void)
{
    MPI_Status status;
    int value = -1, flag;
    memset(&status, 0, sizeof status);
    MUST(MPI_Status_set_source(&status, 5));
    MUST(MPI_Status_set_tag(&status, 6));
    MUST(MPI_Status_set_error(&status, MPI_ERR_OTHER));
    MUST(MPI_Status_get_source(&status, &value));
    CHECK_EQ(value, 5);
    MUST(MPI_Status_get_tag(&status, &value));
    CHECK_EQ(value, 6);
    MUST(MPI_Status_get_error(&status, &value));
    CHECK_EQ(value, MPI_ERR_OTHER);
    MUST(MPI_Status_set_elements(&status, MPI_DOUBLE, 7));
    CHECK_EQ(check_status_count(&status, MPI_DOUBLE), 7);
    MUST(MPI_Status_set_cancelled(&status, 1));
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag);
}

/* Receiving without a status leaves the caller's error field alone (section 3.2.5). */
static void error_field(void)
{
    MPI_Status status;
    int value = 1, in;
    status.MPI_ERROR = 4242;
    MUST(MPI_Sendrecv(&value, 1, MPI_INT, check_rank, 1, &in, 1, MPI_INT, check_rank, 1, MPI_COMM_WORLD, &status));
    CHECK_EQ(status.MPI_ERROR, 4242);
}

static void type_names(void)
{
    MPI_Datatype type;
    char name[MPI_MAX_OBJECT_NAME];
    int length = -1;
    MPI_Type_contiguous(2, MPI_INT, &type);
    MUST(MPI_Type_get_name(type, name, &length));
    CHECK_STR(name, "");
    CHECK_EQ(length, 0);
    MUST(MPI_Type_set_name(type, "two"));
    MPI_Type_get_name(type, name, &length);
    CHECK_STR(name, "two");
    MPI_Datatype copy;
    MPI_Type_dup(type, &copy);
    MPI_Type_get_name(copy, name, &length);
    CHECK_STR(name, "");
    MPI_Type_free(&type), MPI_Type_free(&copy);
    MUST(MPI_Pcontrol(1));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    inquiries();
    clocks();
    memory();
    statuses();
    error_field();
    type_names();
    return check_finish();
}
