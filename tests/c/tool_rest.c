/* What tools seldom ask for (MPI-5.0 sections 15.3.6, 15.3.8 and 15.3.9): control variables that cannot be
 * written, hints of events and callbacks, callbacks that are taken away, dropped events, and categories that
 * never change.
 * ranks: 1 2
 * instances: default
 * timeout: 60
 */
#include "check.h"

static int strict, plain, freed, dropped;

static void on_plain(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                     void *data)
{
    (void)instance, (void)registration;
    plain += data == &plain && safety == MPI_T_CB_REQUIRE_NONE;
}

static void on_strict(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                      void *data)
{
    (void)instance, (void)registration;
    strict += data == &strict && safety == MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE;
}

static void on_dropped(MPI_Count count, MPI_T_event_registration registration, int source, MPI_T_cb_safety safety,
                       void *data)
{
    (void)registration, (void)safety, (void)data;
    dropped += count > 0 && source == 0;
}

static void on_free(MPI_T_event_registration registration, MPI_T_cb_safety safety, void *data)
{
    (void)registration, (void)safety;
    freed += data == &freed;
}

/* The settings are read when MPI starts: all of them say so, and writing one changes nothing. */
static void writing(void)
{
    int variables, count, scope;
    MUST(MPI_T_cvar_get_num(&variables));
    for (int i = 0; i < variables; i++) {
        MPI_T_cvar_handle handle;
        MUST(MPI_T_cvar_get_info(i, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &scope));
        CHECK_EQ(scope, MPI_T_SCOPE_READONLY);
        MUST(MPI_T_cvar_handle_alloc(i, NULL, &handle, &count));
        char *before = check_alloc(8 * (size_t)count), *after = check_alloc(8 * (size_t)count);
        memset(before, 0, 8 * (size_t)count);
        memset(after, 0, 8 * (size_t)count);
        MUST(MPI_T_cvar_read(handle, before));
        CHECK_EQ(MPI_T_cvar_write(handle, "another value of its own"), MPI_T_ERR_CVAR_SET_NEVER);
        MUST(MPI_T_cvar_read(handle, after));
        CHECK(memcmp(before, after, 8 * (size_t)count) == 0);
        MPI_T_cvar_handle stale = handle;
        MUST(MPI_T_cvar_handle_free(&handle));
        CHECK_EQ(MPI_T_cvar_read(stale, after), MPI_T_ERR_INVALID_HANDLE);
        CHECK_EQ(MPI_T_cvar_write(stale, after), MPI_T_ERR_INVALID_HANDLE);
        free(before);
        free(after);
    }
}

static void categories(void)
{
    int first, later, count, inner;
    MUST(MPI_T_category_changed(&first));
    MUST(MPI_T_category_get_num(&count));
    for (int i = 0; i < count; i++) {
        int indices[4] = {-7, -7, -7, -7};
        MUST(MPI_T_category_get_info(i, NULL, NULL, NULL, NULL, NULL, NULL, &inner));
        CHECK(inner <= 4);
        MUST(MPI_T_category_get_categories(i, 4, indices));
        for (int k = inner; k < 4; k++) CHECK_EQ(indices[k], -7);
    }
    CHECK_EQ(MPI_T_category_get_categories(count, 0, &inner), MPI_T_ERR_INVALID_INDEX);
    MUST(MPI_T_category_changed(&later));
    CHECK_EQ(later, first);
}

/* Info objects that are returned are the caller's, and may be freed. */
static void free_hints(MPI_Info info)
{
    int keys = -1;
    MUST(MPI_Info_get_nkeys(info, &keys));
    CHECK(keys >= 0);
    MUST(MPI_Info_free(&info));
}

static void hear_from_myself(int more)
{
    int value = 1, flag = 0, before = plain + strict;
    MPI_Status status;
    MUST(MPI_Send(&value, 1, MPI_INT, check_rank, 42, MPI_COMM_WORLD));
    while (!flag) MPI_Iprobe(check_rank, 42, MPI_COMM_WORLD, &flag, &status);
    for (int i = 0; plain + strict == before && i < 1000; i++)
        MPI_Iprobe(MPI_ANY_SOURCE, 777, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    MUST(MPI_Recv(&value, 1, MPI_INT, check_rank, 42, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_EQ(plain + strict - before, more);
}

static void events(void)
{
    MPI_T_event_registration registration;
    MPI_Info info;
    int index;
    MUST(MPI_T_event_get_index("tern_message_unexpected", &index));
    MUST(MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &registration));
    MUST(MPI_T_event_handle_set_info(registration, MPI_INFO_NULL));
    MUST(MPI_T_event_handle_get_info(registration, &info));
    free_hints(info);
    MUST(MPI_T_event_set_dropped_handler(registration, on_dropped));

    /* Of several levels the one counts that lets the function do most. */
    MUST(MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, MPI_INFO_NULL, &strict,
                                       on_strict));
    hear_from_myself(1);
    CHECK_EQ(strict, 1);
    MUST(MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, &plain, on_plain));
    MUST(MPI_T_event_callback_set_info(registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL));
    MUST(MPI_T_event_callback_get_info(registration, MPI_T_CB_REQUIRE_NONE, &info));
    free_hints(info);
    hear_from_myself(1);
    CHECK_EQ(plain, 1);

    /* A null pointer takes a callback away. */
    MUST(MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, NULL));
    hear_from_myself(1);
    CHECK_EQ(strict, 2);
    MUST(MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, MPI_INFO_NULL, NULL, NULL));
    hear_from_myself(0);
    CHECK(MPI_T_event_callback_get_info(registration, MPI_T_CB_REQUIRE_NONE, &info) != MPI_SUCCESS);

    MUST(MPI_T_event_handle_free(registration, &freed, on_free));
    CHECK_EQ(freed, 1);
    CHECK_EQ(MPI_T_event_handle_get_info(registration, &info), MPI_T_ERR_INVALID_HANDLE);
    CHECK_EQ(MPI_T_event_handle_set_info(registration, MPI_INFO_NULL), MPI_T_ERR_INVALID_HANDLE);
    CHECK_EQ(MPI_T_event_set_dropped_handler(registration, NULL), MPI_T_ERR_INVALID_HANDLE);
    CHECK_EQ(dropped, 0);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    check_init(&argc, &argv);
    writing();
    categories();
    events();
    MUST(MPI_T_finalize());
    return check_finish();
}
