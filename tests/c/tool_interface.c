/* The tool information interface (MPI-5.0 chapter 15): before and after MPI, control variables with their
 * enumerations, categories, and the ways in which it says that something is not there.
 * ranks: 1
 */
#include "check.h"

/* Reads a variable; which value it has depends on the environment. */
static void read_variable(int index, MPI_Datatype type, MPI_T_enum words)
{
    MPI_T_cvar_handle handle;
    int count, value, items, item_value;
    MUST(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count));
    char *buffer = check_alloc(8 * (size_t)count);
    MUST(MPI_T_cvar_read(handle, buffer));
    if (words != MPI_T_ENUM_NULL) {
        CHECK(type == MPI_INT);
        memcpy(&value, buffer, sizeof value);
        MUST(MPI_T_enum_get_info(words, &items, NULL, NULL));
        CHECK(value >= 0 && value < items);
        MUST(MPI_T_enum_get_item(words, value, &item_value, NULL, NULL));
        CHECK_EQ(item_value, value);
        CHECK_EQ(MPI_T_enum_get_item(words, items, &item_value, NULL, NULL), MPI_T_ERR_INVALID_INDEX);
    }
    MUST(MPI_T_cvar_handle_free(&handle));
    CHECK(handle == MPI_T_CVAR_HANDLE_NULL);
    free(buffer);
}

static void variables(void)
{
    int count, at;
    MUST(MPI_T_cvar_get_num(&count));
    for (int i = 0; i < count; i++) {
        char name[256], cut[4];
        int length = 0, full, cut_length = sizeof cut, verbosity, bind, scope;
        MPI_Datatype type;
        MPI_T_enum words;
        MUST(MPI_T_cvar_get_info(i, NULL, &length, &verbosity, &type, &words, NULL, NULL, &bind, &scope));
        full = length;
        length = sizeof name;
        MUST(MPI_T_cvar_get_info(i, name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
        CHECK_EQ(length, (int)strlen(name) + 1);
        CHECK_EQ(length, full);
        MUST(MPI_T_cvar_get_info(i, cut, &cut_length, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
        CHECK(strlen(cut) == 3 && strncmp(cut, name, 3) == 0);
        MUST(MPI_T_cvar_get_index(name, &at));
        CHECK_EQ(at, i);
        if (bind == MPI_T_BIND_NO_OBJECT) read_variable(i, type, words);
    }
    CHECK_EQ(MPI_T_cvar_get_index("no such variable", &at), MPI_T_ERR_INVALID_NAME);
    CHECK_EQ(MPI_T_cvar_get_info(count, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
             MPI_T_ERR_INVALID_INDEX);
}

static void categories(void)
{
    int count, at;
    MUST(MPI_T_category_get_num(&count));
    for (int i = 0; i < count; i++) {
        char name[256];
        int length = sizeof name, cvars;
        MUST(MPI_T_category_get_info(i, name, &length, NULL, NULL, &cvars, NULL, NULL));
        MUST(MPI_T_category_get_index(name, &at));
        CHECK_EQ(at, i);
        int *members = check_alloc(sizeof(int) * (size_t)(cvars + 1));
        members[cvars] = -7;
        MUST(MPI_T_category_get_cvars(i, cvars, members));
        CHECK_EQ(members[cvars], -7);
        free(members);
    }
    CHECK_EQ(MPI_T_category_get_index("no such category", &at), MPI_T_ERR_INVALID_NAME);
}

/* The whole table, and that categories hold each variable and event once. */
static void performance_variables(void)
{
    int count, categories, in_categories = 0, events, in_categories_events = 0;
    MUST(MPI_T_pvar_get_num(&count));
    MUST(MPI_T_event_get_num(&events));
    for (int i = 0; i < count; i++) {
        char name[256];
        int length = sizeof name, class, bind, readonly, continuous, atomic, at;
        MPI_Datatype type;
        MUST(MPI_T_pvar_get_info(i, name, &length, NULL, &class, &type, NULL, NULL, NULL, &bind, &readonly, &continuous,
                                 &atomic));
        CHECK_EQ(length, (int)strlen(name) + 1);
        CHECK(type == MPI_UNSIGNED_LONG_LONG || type == MPI_DOUBLE);
        CHECK(bind == MPI_T_BIND_NO_OBJECT || bind == MPI_T_BIND_MPI_COMM);
        MUST(MPI_T_pvar_get_index(name, class, &at));
        CHECK_EQ(at, i);
        CHECK_EQ(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_STATE, &at), MPI_T_ERR_INVALID_NAME);
    }
    CHECK_EQ(MPI_T_pvar_get_info(count, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
             MPI_T_ERR_INVALID_INDEX);
    MUST(MPI_T_category_get_num(&categories));
    for (int i = 0; i < categories; i++) {
        int pvars, of_events, *members;
        MUST(MPI_T_category_get_info(i, NULL, NULL, NULL, NULL, NULL, &pvars, NULL));
        MUST(MPI_T_category_get_num_events(i, &of_events));
        members = check_alloc(sizeof(int) * (size_t)(pvars + of_events + 1));
        MUST(MPI_T_category_get_pvars(i, pvars, members));
        for (int k = 0; k < pvars; k++) CHECK(members[k] >= 0 && members[k] < count);
        MUST(MPI_T_category_get_events(i, of_events, members));
        in_categories += pvars, in_categories_events += of_events;
        free(members);
    }
    CHECK_EQ(in_categories, count);
    CHECK_EQ(in_categories_events, events);
}

/* What the program puts into its environment later changes neither a value nor how long it is. */
static void later_environment(void)
{
    MPI_T_cvar_handle handle;
    int all, count;
    char name[256];
    MUST(MPI_T_cvar_get_num(&all));
    for (int index = 0; index < all; index++) {
        MPI_Datatype type;
        int length = sizeof name;
        MUST(MPI_T_cvar_get_info(index, name, &length, NULL, &type, NULL, NULL, NULL, NULL, NULL));
        if (type != MPI_CHAR || getenv(name) != NULL) continue;
        char before[512] = "", after[512] = "";
        memset(after, '#', sizeof after - 1);
        MUST(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count));
        if (count > 256) count = 256;
        MUST(MPI_T_cvar_read(handle, before));
        setenv(name, "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz", 1);
        MUST(MPI_T_cvar_read(handle, after));
        unsetenv(name);
        CHECK_STR(after, before);
        CHECK_EQ(after[count], '#');
        MUST(MPI_T_cvar_handle_free(&handle));
    }
}

static void performance_sessions(void)
{
    MPI_T_pvar_session session;
    MUST(MPI_T_pvar_session_create(&session));
    MUST(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    MUST(MPI_T_pvar_session_free(&session));
    CHECK(session == MPI_T_PVAR_SESSION_NULL);
}

int main(int argc, char **argv)
{
    int count, level;
    int before = MPI_T_cvar_get_num(&count);
    int started = MPI_T_init_thread(MPI_THREAD_SINGLE, &level);
    check_init(&argc, &argv);
    CHECK_EQ(before, MPI_T_ERR_NOT_INITIALIZED);
    CHECK_EQ(started, MPI_SUCCESS);
    variables();
    later_environment();
    categories();
    performance_variables();
    performance_sessions();
    MUST(MPI_T_finalize());
    CHECK_EQ(MPI_T_finalize(), MPI_T_ERR_NOT_INITIALIZED);
    return check_finish();
}
