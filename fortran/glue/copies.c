/* Dense copies of sections, for calls that cannot use a datatype: while the call runs, or while its request does. */
#define TS
#include "glue.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "pending.h"

/* Fills a copy. Behind one that must go back lies a second, which tells what was written meanwhile. */
static void take(const Descriptor *section, char *copy, int back)
{
    section_gather(section, copy);
    if (back) memcpy(copy + section_bytes(section), copy, section_bytes(section));
}

static void put(const Descriptor *section, const char *copy)
{
    section_scatter(section, copy, copy + section_bytes(section));
}

Whole whole_copy(Choice buffer, int back)
{
    Whole whole = {malloc((back ? 2 : 1) * section_bytes(buffer) + 1), NULL, buffer, back, MPI_SUCCESS};
    if (whole.at == NULL) {
        whole.code = MPI_ERR_NO_MEM;
        return whole;
    }
    whole.copy = whole.at;
    take(buffer, whole.copy, back);
    return whole;
}

/* How many ranks a rank's count stands for: of the other group, if there are two. */
static MPI_Count ranks_of(MPI_Comm comm)
{
    int between = 0, n = 1;
    if (comm == MPI_COMM_NULL) return n;
    PMPI_Comm_test_inter(comm, &between);
    if (between)
        PMPI_Comm_remote_size(comm, &n);
    else
        PMPI_Comm_size(comm, &n);
    return n;
}

void whole_check(Whole *whole, MPI_Count count, MPI_Datatype type, Times times, const Call *call)
{
    MPI_Count lb, extent, true_lb, true_extent;
    if (count <= 0 || type == MPI_DATATYPE_NULL || !is_ready(type)) return;
    PMPI_Type_get_extent_c(type, &lb, &extent);
    PMPI_Type_get_true_extent_c(type, &true_lb, &true_extent);
    MPI_Count all = times == EACH ? count * ranks_of(Comm(call->comm)) : count;
    if (extent < 0 || true_lb + true_extent + (all - 1) * extent <= (MPI_Count)section_bytes(whole->section)) return;
    whole->code = section_error(call, "%lld of this datatype do not fit into the %zu bytes of the strided section",
        (long long)all, section_bytes(whole->section));
}

void whole_back(Whole whole)
{
    if (whole.back) put(whole.section, whole.copy);
    free(whole.copy);
}

/* A file's split call, of which there is one at a time, is told apart from all requests. */
static long long key_of_file(MPI_Fint file)
{
    return (1LL << 40) + file;
}

static void keep(long long key, const Whole *whole, int persistent);

Detour *detour_of(Choice buffer, MPI_Count count, MPI_Datatype type, Use use, const Call *call)
{
    if (count <= 0 || type == MPI_DATATYPE_NULL || !is_ready(type)) return NULL;
    Detour *detour = malloc(sizeof *detour);
    if (detour == NULL) abort();
    *detour = (Detour){MPI_DATATYPE_NULL, NO_BUFFER, MPI_SUCCESS};
    if (use != STAYS && section_needs_copy(buffer, count, type)) {
        detour->whole = whole_copy(buffer, use == WRITTEN);
        detour->code = detour->whole.code;
    } else {
        detour->code = section_type(buffer, count, type, &detour->made, call);
    }
    return detour;
}

void detour_end(Detour *detour)
{
    if (detour->made != MPI_DATATYPE_NULL) MPI_Type_free(&detour->made);
    whole_end(detour->whole);
    free(detour);
}

void detour_pend(Detour *detour, int code, MPI_Request request, int persistent)
{
    if (code == MPI_SUCCESS && detour->whole.copy != NULL) {
        pend(request, &detour->whole, persistent);
        detour->whole.copy = NULL;
    }
    detour_end(detour);
}

void detour_split(Detour *detour, int code, MPI_Fint file)
{
    if (code == MPI_SUCCESS && detour->whole.copy != NULL) {
        keep(key_of_file(file), &detour->whole, 0);
        detour->whole.copy = NULL;
    }
    detour_end(detour);
}

/* A copy that a request uses, or a split call of a file. */
typedef struct Pending {
    long long key;
    int persistent, back;
    /* Whether the request is on its way: always, but for a persistent one that is not started. */
    int active;
    /* Whether the copy has been put back since it is. */
    int landed;
    /* The section that it is a copy of, if it is one: else it only must live as long. */
    int has_section;
    void *copy;
    struct Pending *next;
    /* The caller's descriptor ends with the call. */
    union {
        Descriptor section;
        char room[sizeof(Descriptor) + RANK_MAX * sizeof(Dimension)];
    };
} Pending;

static Pending *all_pending;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
atomic_int pending_count;

static void keep(long long key, const Whole *whole, int persistent)
{
    Pending *new = malloc(sizeof *new);
    if (new == NULL) abort();
    new->key = key;
    new->persistent = persistent;
    new->back = whole->back;
    new->active = !persistent;
    new->landed = 0;
    new->copy = whole->copy;
    new->has_section = whole->section != NULL;
    if (new->has_section)
        memcpy(&new->section, whole->section, sizeof(Descriptor) + (size_t)whole->section->rank * sizeof(Dimension));
    pthread_mutex_lock(&lock);
    new->next = all_pending;
    all_pending = new;
    pthread_mutex_unlock(&lock);
    atomic_fetch_add(&pending_count, 1);
}

void pend(MPI_Request request, const Whole *whole, int persistent)
{
    keep(Request_int(request), whole, persistent);
}

/* Takes an entry out of the list, and gives what follows it. */
static void unlink_at(Pending **at, int free_copy)
{
    Pending *old = *at;
    *at = old->next;
    if (free_copy) free(old->copy);
    free(old);
    atomic_fetch_sub(&pending_count, 1);
}

/* Puts the copy back, once: the program may write to its section as soon as it knows that the data are there. */
static void land(Pending *one)
{
    if (one->active && one->back && !one->landed) put(&one->section, one->copy);
    one->landed = 1;
}

static void end_of(long long key)
{
    pthread_mutex_lock(&lock);
    for (Pending **at = &all_pending; *at != NULL;) {
        Pending *one = *at;
        if (one->key == key) {
            land(one);
            one->active = 0;
        }
        if (one->key == key && !one->persistent)
            unlink_at(at, 1);
        else
            at = &one->next;
    }
    pthread_mutex_unlock(&lock);
}

void pending_end(MPI_Fint request)
{
    end_of(request);
}

void pending_split_end(MPI_Fint file)
{
    end_of(key_of_file(file));
}

void pending_land(MPI_Fint request)
{
    pthread_mutex_lock(&lock);
    for (Pending *one = all_pending; one != NULL; one = one->next)
        if (one->key == request) land(one);
    pthread_mutex_unlock(&lock);
}

void pending_start(MPI_Fint request)
{
    pthread_mutex_lock(&lock);
    for (Pending *one = all_pending; one != NULL; one = one->next) {
        if (one->key != request || one->active) continue;
        if (one->has_section) take(&one->section, one->copy, one->back);
        one->active = 1;
        one->landed = 0;
    }
    pthread_mutex_unlock(&lock);
}

static void forget(long long key, int keep_active)
{
    pthread_mutex_lock(&lock);
    for (Pending **at = &all_pending; *at != NULL;) {
        if ((*at)->key == key)
            unlink_at(at, !keep_active || !(*at)->active);
        else
            at = &(*at)->next;
    }
    pthread_mutex_unlock(&lock);
}

/* The copy of what is still on its way must stay. */
void pending_forget(MPI_Fint request)
{
    forget(request, 1);
}

void pending_replace(MPI_Fint request)
{
    forget(request, 0);
}
