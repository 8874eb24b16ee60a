/* Info objects (MPI-5.0 chapter 10): order, replacement, deletion, lengths, duplicates, MPI_INFO_ENV, and
 * hints on communicators.
 * ranks: 1 2
 */
#include "check.h"

static void contents(void)
{
    MPI_Info info;
    char value[64], key[MPI_MAX_INFO_KEY];
    int n = -1, flag = 0, length = 0;
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_get_nkeys(info, &n));
    CHECK_EQ(n, 0);
    MPI_Info_set(info, "first", "1");
    MPI_Info_set(info, "second", "two words");
    MPI_Info_set(info, "third", "3");
    MPI_Info_set(info, "second", "again");
    MPI_Info_get_nkeys(info, &n);
    CHECK_EQ(n, 3);
    static const char *order[3] = {"first", "second", "third"};
    for (int i = 0; i < 3; i++) {
        MUST(MPI_Info_get_nthkey(info, i, key));
        CHECK_STR(key, order[i]);
    }
    MUST(MPI_Info_get(info, "second", 63, value, &flag));
    CHECK(flag);
    CHECK_STR(value, "again");
    MUST(MPI_Info_get_valuelen(info, "second", &length, &flag));
    CHECK(flag);
    CHECK_EQ(length, 5);
    MPI_Info_get(info, "none", 63, value, &flag);
    CHECK(!flag);
    /* get truncates (section 10.1; MPICH 5.0.2 makes it an error); get_string says how long the buffer must be
     * (with its zero). */
    MPI_Info_get(info, "second", 2, value, &flag);
    CHECK_STR(value, "ag");
    length = 3;
    MUST(MPI_Info_get_string(info, "second", &length, value, &flag));
    CHECK(flag);
    CHECK_STR(value, "ag");
    CHECK_EQ(length, 6);
    length = 0;
    MUST(MPI_Info_get_string(info, "second", &length, NULL, &flag));
    CHECK_EQ(length, 6);
    MUST(MPI_Info_delete(info, "first"));
    MPI_Info_get_nkeys(info, &n);
    CHECK_EQ(n, 2);
    MPI_Info_get_nthkey(info, 0, key);
    CHECK_STR(key, "second");
    MPI_Info copy;
    MUST(MPI_Info_dup(info, &copy));
    MPI_Info_set(info, "fourth", "4");
    MPI_Info_get_nkeys(copy, &n);
    CHECK_EQ(n, 2);
    MPI_Info_free(&info), MPI_Info_free(&copy);
    CHECK(info == MPI_INFO_NULL);
}

static void limits(void)
{
    MPI_Info info;
    char key[MPI_MAX_INFO_KEY + 8], *value = check_alloc(MPI_MAX_INFO_VAL + 8), *back = check_alloc(MPI_MAX_INFO_VAL);
    int flag = 0;
    MPI_Info_create(&info);
    memset(key, 'k', sizeof key), key[MPI_MAX_INFO_KEY - 1] = 0;
    memset(value, 'v', MPI_MAX_INFO_VAL), value[MPI_MAX_INFO_VAL - 1] = 0;
    MUST(MPI_Info_set(info, key, value));
    MPI_Info_get(info, key, MPI_MAX_INFO_VAL - 1, back, &flag);
    CHECK(flag);
    CHECK(strcmp(back, value) == 0);
    for (int i = 0; i < 500; i++) {
        char name[32];
        snprintf(name, sizeof name, "key %d", i);
        MPI_Info_set(info, name, name);
    }
    int n;
    MPI_Info_get_nkeys(info, &n);
    CHECK_EQ(n, 501);
    MPI_Info_free(&info);
    free(value), free(back);
}

/* Both have the same keys with the same values. */
static void expect_equal(MPI_Info a, MPI_Info b)
{
    int keys, others, flag;
    MPI_Info_get_nkeys(a, &keys), MPI_Info_get_nkeys(b, &others);
    CHECK_EQ(keys, others);
    for (int i = 0; i < keys; i++) {
        char key[MPI_MAX_INFO_KEY], value[MPI_MAX_INFO_VAL] = "", other[MPI_MAX_INFO_VAL] = "";
        MPI_Info_get_nthkey(a, i, key);
        MPI_Info_get(a, key, MPI_MAX_INFO_VAL - 1, value, &flag);
        MPI_Info_get(b, key, MPI_MAX_INFO_VAL - 1, other, &flag);
        CHECK_STR(other, value);
    }
}

static void environment(MPI_Info before)
{
    char value[MPI_MAX_INFO_VAL];
    int flag = 0;
    /* Which keys are set is the library's choice (section 10.2.1), but the object is there. */
    MUST(MPI_Info_get(MPI_INFO_ENV, "maxprocs", MPI_MAX_INFO_VAL - 1, value, &flag));
    if (flag) CHECK_EQ(atoi(value), check_size);
    MPI_Info info;
    MUST(MPI_Info_create_env(0, NULL, &info));
    expect_equal(before, info);
    MPI_Info_free(&info);
}

static void on_communicators(void)
{
    MPI_Info info, used;
    MPI_Comm comm;
    MPI_Info_create(&info);
    MPI_Info_set(info, "tern_test_unknown_hint", "ignored");
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MUST(MPI_Comm_set_info(comm, info));
    MUST(MPI_Comm_get_info(comm, &used));
    CHECK(used != MPI_INFO_NULL);
    MPI_Info_free(&used), MPI_Info_free(&info);
    MPI_Comm_free(&comm);
}

static void errors(void)
{
    MPI_Info info;
    char key[MPI_MAX_INFO_KEY + 8], value[8];
    int flag;
    MPI_Info_create(&info);
    memset(key, 'k', sizeof key), key[sizeof key - 1] = 0;
    CHECK_ERROR(MPI_Info_set(info, key, "v"), MPI_ERR_INFO_KEY, "MPI_Info_set");
    CHECK_ERROR(MPI_Info_set(info, "", "v"), MPI_ERR_INFO_KEY, "MPI_Info_set");
    CHECK_ERROR(MPI_Info_delete(info, "absent"), MPI_ERR_INFO_NOKEY, "MPI_Info_delete");
    CHECK_ERROR(MPI_Info_get_nthkey(info, 3, key), MPI_ERR_ARG, "MPI_Info_get_nthkey");
    /* 'Invalid info argument' (section 9.4); MPICH 5.0.2 gives MPI_ERR_ARG. */
    CHECK_ERROR(MPI_Info_get(MPI_INFO_NULL, "a", 7, value, &flag), MPI_ERR_INFO, "MPI_Info_get");
    MPI_Info_free(&info);
}

int main(int argc, char **argv)
{
    /* An info object can be made before MPI is there, and tells the same (section 11.2.1). */
    MPI_Info before;
    if (MPI_Info_create_env(0, NULL, &before) != MPI_SUCCESS) return 1;
    check_init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    contents();
    limits();
    environment(before);
    MPI_Info_free(&before);
    on_communicators();
    errors();
    return check_finish();
}
