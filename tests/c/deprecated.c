/* Deprecated functions, which the ABI still has (MPI-5.0 chapters 16 and 20): attributes by their first names,
 * and counts of type MPI_Count in functions that end in _x.
 * ranks: 1 2
 * instances: default
 * timeout: 60
 */
#include "check.h"

static int copied, deleted;

static int copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)key;
    copied += extra == &copied;
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value;
    deleted += extra == &copied;
    return MPI_SUCCESS;
}

static void attributes(void)
{
    static char place[4];
    MPI_Comm twin;
    int key, flag = 0;
    void *found = NULL;
    MUST(MPI_Keyval_create(copy, delete, &key, &copied));
    MUST(MPI_Attr_get(MPI_COMM_SELF, key, &found, &flag));
    CHECK(!flag);
    MUST(MPI_Attr_put(MPI_COMM_SELF, key, place));
    MUST(MPI_Comm_dup(MPI_COMM_SELF, &twin));
    CHECK_EQ(copied, 1);
    MUST(MPI_Attr_get(twin, key, &found, &flag));
    CHECK(flag && found == place + 1);
    /* One attribute, whichever name it is asked by. */
    MUST(MPI_Comm_get_attr(twin, key, &found, &flag));
    CHECK(flag && found == place + 1);
    MUST(MPI_Attr_put(twin, key, place + 2));
    CHECK_EQ(deleted, 1);
    MUST(MPI_Attr_delete(twin, key));
    CHECK_EQ(deleted, 2);
    MUST(MPI_Attr_get(twin, key, &found, &flag));
    CHECK(!flag);
    MUST(MPI_Comm_free(&twin));
    MUST(MPI_Attr_delete(MPI_COMM_SELF, key));
    CHECK_EQ(deleted, 3);
    MUST(MPI_Keyval_free(&key));
    CHECK_EQ(key, MPI_KEYVAL_INVALID);
}

static void counts(void)
{
    const MPI_Count many = ((MPI_Count)1 << 31) + 5;
    MPI_Datatype type, shifted;
    MPI_Status status;
    MPI_Count size = 0, lower = -1, extent = 0, elements = 0;
    int count = 0;
    MUST(MPI_Type_contiguous_c(many, MPI_DOUBLE, &type));
    MUST(MPI_Type_size_x(type, &size));
    CHECK_EQ(size, 8 * many);
    MUST(MPI_Type_size(type, &count));
    CHECK_EQ(count, MPI_UNDEFINED);
    MUST(MPI_Type_create_resized_c(type, -8, 8 * many + 16, &shifted));
    MUST(MPI_Type_get_extent_x(shifted, &lower, &extent));
    CHECK_EQ(lower, -8);
    CHECK_EQ(extent, 8 * many + 16);
    MUST(MPI_Type_get_true_extent_x(shifted, &lower, &extent));
    CHECK_EQ(lower, 0);
    CHECK_EQ(extent, 8 * many);
    memset(&status, 0, sizeof status);
    MUST(MPI_Status_set_elements_x(&status, MPI_DOUBLE, many));
    MUST(MPI_Get_elements_x(&status, MPI_DOUBLE, &elements));
    CHECK_EQ(elements, many);
    MUST(MPI_Get_elements(&status, MPI_DOUBLE, &count));
    CHECK_EQ(count, MPI_UNDEFINED);
    MUST(MPI_Type_free(&shifted));
    MUST(MPI_Type_free(&type));
}

static void info(void)
{
    MPI_Info info;
    char value[16] = "";
    int length = 0, flag = 0;
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "key", "a value"));
    MUST(MPI_Info_get_valuelen(info, "key", &length, &flag));
    CHECK(flag);
    CHECK_EQ(length, 7);
    /* As much as there is room for, with a zero behind it. */
    MUST(MPI_Info_get(info, "key", 3, value, &flag));
    CHECK(flag);
    CHECK_STR(value, "a v");
    MUST(MPI_Info_free(&info));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    attributes();
    counts();
    info();
    return check_finish();
}
