/* The edges of the tool information interface (MPI-5.0 chapter 15): it is started and ended as often, asks for what it
 * wants alone, and each wrong argument has a code of its own.
 * ranks: 1
 * instances: default
 * timeout: 60
 */
#include "check.h"

/* Started twice, it has ended only after the second end. */
static void counted(void)
{
    int level = -1, count = -1;
    MUST(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &level));
    CHECK(level >= MPI_THREAD_SINGLE && level <= MPI_THREAD_MULTIPLE);
    MUST(MPI_T_init_thread(MPI_THREAD_SINGLE, &level));
    MUST(MPI_T_finalize());
    MUST(MPI_T_cvar_get_num(&count));
    CHECK(count > 0);
    MUST(MPI_T_finalize());
    CHECK_EQ(MPI_T_cvar_get_num(&count), MPI_T_ERR_NOT_INITIALIZED);
    CHECK_EQ(MPI_T_pvar_get_num(&count), MPI_T_ERR_NOT_INITIALIZED);
    CHECK_EQ(MPI_T_category_get_num(&count), MPI_T_ERR_NOT_INITIALIZED);
    CHECK_EQ(MPI_T_event_get_num(&count), MPI_T_ERR_NOT_INITIALIZED);
    CHECK_EQ(MPI_T_source_get_num(&count), MPI_T_ERR_NOT_INITIALIZED);
}

/* A string is left out where its length is null or 0, and the length is told where it can be. */
static void strings(void)
{
    char word[8] = "untouch";
    int none = 0, one = 1;
    MUST(MPI_T_cvar_get_info(0, word, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK_STR(word, "untouch");
    MUST(MPI_T_cvar_get_info(0, word, &none, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK_STR(word, "untouch");
    CHECK(none > 1);
    MUST(MPI_T_cvar_get_info(0, word, &one, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK_STR(word, "");
    CHECK_EQ(one, none);
    strcpy(word, "untouch");
    none = 0;
    MUST(MPI_T_pvar_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, word, &none, NULL, NULL, NULL, NULL));
    CHECK_STR(word, "untouch");
    CHECK(none > 1);
    none = 0;
    MUST(MPI_T_category_get_info(0, NULL, NULL, NULL, &none, NULL, NULL, NULL));
    CHECK(none >= 1);
    none = 0;
    MUST(MPI_T_event_get_info(0, NULL, &none, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK(none > 1);
    none = 0;
    MUST(MPI_T_source_get_info(0, NULL, &none, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK(none > 1);
}

/* How many elements an event has is told to whoever has no room for them; as many are given as there is room for. */
static void elements(void)
{
    int events, whole = 0, index;
    MUST(MPI_T_event_get_num(&events));
    MUST(MPI_T_event_get_index("tern_message_unexpected", &index));
    MUST(MPI_T_event_get_info(index, NULL, NULL, NULL, NULL, NULL, &whole, NULL, NULL, NULL, NULL, NULL));
    CHECK(whole >= 2);
    MPI_Datatype types[3] = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
    MPI_Aint places[3] = {-1, -1, -1};
    int room = 1;
    MUST(MPI_T_event_get_info(index, NULL, NULL, NULL, types, places, &room, NULL, NULL, NULL, NULL, NULL));
    CHECK_EQ(room, whole);
    CHECK(types[0] != MPI_DATATYPE_NULL && places[0] == 0);
    CHECK(types[1] == MPI_DATATYPE_NULL && places[1] == -1);
    CHECK_EQ(MPI_T_event_get_info(events, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
             MPI_T_ERR_INVALID_INDEX);
    CHECK_EQ(MPI_T_event_get_info(-1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
             MPI_T_ERR_INVALID_INDEX);
}

/* All handles of a session are started and stopped, those that cannot be or are already left out. */
static void sessions(void)
{
    MPI_T_pvar_session session;
    MPI_T_pvar_handle counter, level, stale;
    unsigned long long value = 99;
    int index, count;
    MUST(MPI_T_pvar_session_create(&session));
    MUST(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    MUST(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES));
    MUST(MPI_T_pvar_get_index("tern_unexpected_messages", MPI_T_PVAR_CLASS_LEVEL, &index));
    MUST(MPI_T_pvar_handle_alloc(session, index, NULL, &level, &count));
    MUST(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    MUST(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES));
    MUST(MPI_T_pvar_get_index("tern_sent_messages", MPI_T_PVAR_CLASS_COUNTER, &index));
    MUST(MPI_T_pvar_handle_alloc(session, index, NULL, &counter, &count));
    MUST(MPI_T_pvar_start(session, counter));
    MUST(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    MUST(MPI_T_pvar_read(session, counter, &value));
    CHECK_EQ(value, 0);
    CHECK_EQ(MPI_T_pvar_start(session, level), MPI_T_ERR_PVAR_NO_STARTSTOP);
    CHECK_EQ(MPI_T_pvar_stop(session, level), MPI_T_ERR_PVAR_NO_STARTSTOP);
    CHECK_EQ(MPI_T_pvar_write(session, level, &value), MPI_T_ERR_PVAR_NO_WRITE);
    CHECK_EQ(MPI_T_pvar_start(session, MPI_T_PVAR_HANDLE_NULL), MPI_T_ERR_INVALID_HANDLE);
    CHECK_EQ(MPI_T_pvar_stop(session, MPI_T_PVAR_HANDLE_NULL), MPI_T_ERR_INVALID_HANDLE);
    /* All handles are one thing to start, and nothing to read. */
    CHECK_EQ(MPI_T_pvar_read(session, MPI_T_PVAR_ALL_HANDLES, &value), MPI_T_ERR_INVALID_HANDLE);
    CHECK_EQ(MPI_T_pvar_write(session, MPI_T_PVAR_ALL_HANDLES, &value), MPI_T_ERR_INVALID_HANDLE);
    CHECK_EQ(MPI_T_pvar_readreset(session, MPI_T_PVAR_ALL_HANDLES, &value), MPI_T_ERR_INVALID_HANDLE);
    stale = counter;
    MUST(MPI_T_pvar_handle_free(session, &counter));
    CHECK_EQ(MPI_T_pvar_read(session, stale, &value), MPI_T_ERR_INVALID_HANDLE);
    /* Its handles end with a session. */
    MPI_T_pvar_session gone = session;
    MUST(MPI_T_pvar_session_free(&session));
    CHECK_EQ(MPI_T_pvar_start(gone, level), MPI_T_ERR_INVALID_SESSION);
    CHECK_EQ(MPI_T_pvar_session_free(&session), MPI_T_ERR_INVALID_SESSION);
}

static void wrong(void)
{
    int count, items;
    MPI_T_cvar_handle handle;
    char name[64];
    MUST(MPI_T_cvar_get_num(&count));
    CHECK_EQ(MPI_T_cvar_handle_alloc(count, NULL, &handle, &items), MPI_T_ERR_INVALID_INDEX);
    CHECK_EQ(MPI_T_cvar_handle_alloc(-1, NULL, &handle, &items), MPI_T_ERR_INVALID_INDEX);
    CHECK_EQ(MPI_T_cvar_read(MPI_T_CVAR_HANDLE_NULL, name), MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_enum_get_info(MPI_T_ENUM_NULL, &items, NULL, NULL) != MPI_SUCCESS);
    CHECK(MPI_T_enum_get_item(MPI_T_ENUM_NULL, 0, &items, NULL, NULL) != MPI_SUCCESS);
    MUST(MPI_T_category_get_num(&count));
    CHECK_EQ(MPI_T_category_get_info(count, NULL, NULL, NULL, NULL, NULL, NULL, NULL), MPI_T_ERR_INVALID_INDEX);
    CHECK_EQ(MPI_T_category_get_cvars(count, 0, NULL), MPI_T_ERR_INVALID_INDEX);
    CHECK_EQ(MPI_T_category_get_pvars(-1, 0, NULL), MPI_T_ERR_INVALID_INDEX);
    CHECK_EQ(MPI_T_category_get_num_events(count, &items), MPI_T_ERR_INVALID_INDEX);
    CHECK_EQ(MPI_T_source_get_timestamp(99, &(MPI_Count){0}), MPI_T_ERR_INVALID_INDEX);
    CHECK_EQ(MPI_T_pvar_get_index(NULL, MPI_T_PVAR_CLASS_LEVEL, &items), MPI_T_ERR_INVALID_NAME);
}

/* It works before MPI and after it. */
static int outside(void)
{
    int level, count = 0, works;
    works = MPI_T_init_thread(MPI_THREAD_SINGLE, &level) == MPI_SUCCESS;
    works = works && MPI_T_cvar_get_num(&count) == MPI_SUCCESS && count > 0;
    return works && MPI_T_finalize() == MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    int before = outside(), level;
    check_init(&argc, &argv);
    CHECK(before);
    counted();
    MUST(MPI_T_init_thread(MPI_THREAD_SINGLE, &level));
    strings();
    elements();
    sessions();
    wrong();
    MUST(MPI_T_finalize());
    int failed = check_finish();
    return outside() ? failed : 1;
}
