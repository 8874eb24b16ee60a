/* Events (MPI-5.0 section 15.3.8): what they are, callbacks with their elements and times, and the end of a
 * registration.
 * ranks: 2
 * instances: default
 * timeout: 60
 */
#include "check.h"

static int told, told_wrong, freed;
static MPI_Count last_time;
static int process_seen, tag_seen;
static unsigned long long bytes_seen;

static void on_message(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                       void *data)
{
    struct { int process, tag; unsigned long long bytes; } whole;
    MPI_Count when;
    int source = -1;
    (void)registration;
    told++;
    told_wrong += data != &told || safety != MPI_T_CB_REQUIRE_NONE;
    told_wrong += MPI_T_event_read(instance, 0, &process_seen) != MPI_SUCCESS;
    told_wrong += MPI_T_event_read(instance, 1, &tag_seen) != MPI_SUCCESS;
    told_wrong += MPI_T_event_read(instance, 2, &bytes_seen) != MPI_SUCCESS;
    told_wrong += MPI_T_event_read(instance, 3, &bytes_seen) != MPI_T_ERR_INVALID_INDEX;
    told_wrong += MPI_T_event_copy(instance, &whole) != MPI_SUCCESS;
    told_wrong += whole.process != process_seen || whole.tag != tag_seen || whole.bytes != bytes_seen;
    told_wrong += MPI_T_event_get_timestamp(instance, &when) != MPI_SUCCESS || when < last_time;
    told_wrong += MPI_T_event_get_source(instance, &source) != MPI_SUCCESS || source != 0;
    last_time = when;
}

static void on_free(MPI_T_event_registration registration, MPI_T_cb_safety safety, void *data)
{
    (void)registration, (void)safety;
    freed += data == &freed;
}

static void what_there_is(void)
{
    int sources, events, at;
    MPI_T_source_order ordering;
    MPI_Count ticks, most, now, later;
    char name[128];
    int length = sizeof name;
    MUST(MPI_T_source_get_num(&sources));
    CHECK_EQ(sources, 1);
    MUST(MPI_T_source_get_info(0, name, &length, NULL, NULL, &ordering, &ticks, &most, NULL));
    CHECK_EQ(length, (int)strlen(name) + 1);
    CHECK(ordering == MPI_T_SOURCE_ORDERED && ticks > 0 && most > 0);
    CHECK_EQ(MPI_T_source_get_info(1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), MPI_T_ERR_INVALID_INDEX);
    MUST(MPI_T_source_get_timestamp(0, &now));
    MUST(MPI_T_source_get_timestamp(0, &later));
    CHECK(later >= now);
    MUST(MPI_T_event_get_num(&events));
    CHECK(events >= 5);
    for (int i = 0; i < events; i++) {
        MPI_Datatype types[8];
        MPI_Aint places[8];
        int elements = 8, bind;
        length = sizeof name;
        MUST(MPI_T_event_get_info(i, name, &length, NULL, types, places, &elements, NULL, NULL, NULL, NULL, &bind));
        CHECK(elements >= 1 && places[0] == 0 && bind == MPI_T_BIND_NO_OBJECT);
        MUST(MPI_T_event_get_index(name, &at));
        CHECK_EQ(at, i);
    }
    CHECK_EQ(MPI_T_event_get_index("no such event", &at), MPI_T_ERR_INVALID_NAME);
}

static MPI_T_event_registration hear(const char *name)
{
    MPI_T_event_registration registration;
    int index;
    MUST(MPI_T_event_get_index(name, &index));
    MUST(MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &registration));
    MUST(MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, &told, on_message));
    return registration;
}

/* Waits for a callback; each call of MPI may bring it. */
static void await(int count)
{
    int flag;
    for (long i = 0; told < count && i < 100000000; i++)
        MPI_Iprobe(MPI_ANY_SOURCE, 777, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

static void not_called(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                       void *data)
{
    (void)instance, (void)registration, (void)safety, (void)data;
}

/* Events that are none, levels of safety that are none, and a registration that has ended. */
static void registrations(void)
{
    int events, index;
    MPI_T_event_registration registration;
    MPI_Info info = MPI_INFO_NULL;
    MUST(MPI_T_event_get_num(&events));
    MUST(MPI_T_event_get_index("tern_message_unexpected", &index));
    CHECK_EQ(MPI_T_event_handle_alloc(events, NULL, MPI_INFO_NULL, &registration), MPI_T_ERR_INVALID_INDEX);
    MUST(MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &registration));
    CHECK(MPI_T_event_register_callback(registration, (MPI_T_cb_safety)99, MPI_INFO_NULL, NULL, not_called) !=
          MPI_SUCCESS);
    CHECK(MPI_T_event_callback_get_info(registration, MPI_T_CB_REQUIRE_NONE, &info) != MPI_SUCCESS);
    MUST(MPI_T_event_handle_free(registration, NULL, NULL));
    CHECK_EQ(MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, not_called),
             MPI_T_ERR_INVALID_HANDLE);
}

int main(int argc, char **argv)
{
    enum { LONG = 500000 };
    static char data[LONG];
    int provided, value = 3;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    check_init(&argc, &argv);
    what_there_is();
    registrations();
    MPI_T_event_registration unexpected = hear("tern_message_unexpected");
    MPI_Send(&value, 1, MPI_INT, check_rank, 42, MPI_COMM_WORLD);
    await(1);
    CHECK(told >= 1);
    CHECK_EQ(process_seen, check_rank);
    CHECK_EQ(tag_seen, 42);
    CHECK_EQ(bytes_seen, sizeof value);
    MPI_Recv(&value, 1, MPI_INT, check_rank, 42, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MUST(MPI_T_event_handle_free(unexpected, &freed, on_free));
    CHECK_EQ(freed, 1);
    CHECK_EQ(MPI_T_event_handle_free(unexpected, NULL, NULL), MPI_T_ERR_INVALID_HANDLE);
    MPI_Barrier(MPI_COMM_WORLD);
    int before = told;
    MPI_T_event_registration rendezvous = hear("tern_rendezvous_begun");
    if (check_rank == 0) {
        MPI_Send(data, LONG, MPI_BYTE, 1, 43, MPI_COMM_WORLD);
        CHECK_EQ(told, before);
    } else {
        MPI_Recv(data, LONG, MPI_BYTE, 0, 43, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        await(before + 1);
        CHECK_EQ(told, before + 1);
        CHECK_EQ(process_seen, 0);
        CHECK_EQ(tag_seen, 43);
        CHECK_EQ(bytes_seen, LONG);
    }
    CHECK_EQ(told_wrong, 0);
    MUST(MPI_T_event_handle_free(rendezvous, NULL, NULL));
    MPI_T_event_instance stale = (MPI_T_event_instance)(uintptr_t)5000;
    CHECK_EQ(MPI_T_event_read(stale, 0, &value), MPI_T_ERR_INVALID_HANDLE);
    MUST(MPI_T_finalize());
    return check_finish();
}
