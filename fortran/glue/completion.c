/*
 * Section 3.7: the ends of requests. What differs from C: arrays of handles are converted, indices begin with 1, and a
 * request may hold a dense copy of a section (pending.h).
 */
#include "glue.h"
#include "pending.h"

/* Index of C to index of Fortran. */
static MPI_Fint one_based(int index)
{
    return index == MPI_UNDEFINED ? index : index + 1;
}

static int class_of(int code)
{
    int class = MPI_SUCCESS;
    if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
    return class;
}

/*
 * The statuses of a call that completes several requests. Where requests hold copies they are needed though the program
 * ignores them: only they say which of the requests have ended if one of them has failed.
 */
typedef struct {
    MPI_Status *at;
    MPI_Status *own;
} Statuses;

static Statuses statuses_for(StatusOut array, int n)
{
    Statuses all = {statuses(array), NULL};
    if (all.at != MPI_STATUSES_IGNORE || n <= 0 || !some_pending()) return all;
    all.at = all.own = malloc((size_t)n * sizeof *all.own);
    if (all.own == NULL) abort();
    return all;
}

/* Whether request `i` has ended; by its handle alone this can be said of no persistent one. */
static int has_ended(const Statuses *all, int class, int i)
{
    if (class == MPI_ERR_IN_STATUS && all->at != MPI_STATUSES_IGNORE) return all->at[i].MPI_ERROR != MPI_ERR_PENDING;
    return class == MPI_SUCCESS;
}

/* Writes the requests back, after a call that has completed all of them or, if not `flag`, none. */
static void ended(const Requests *now, Out array, int n, int code, int flag, Statuses *all)
{
    int class = class_of(code);
    for (int i = 0; i < n; i++) {
        MPI_Fint was = array[i];
        array[i] = Request_int(now->at[i]);
        if (array[i] != was || (flag && has_ended(all, class, i))) finished(was);
    }
    free(all->own);
}

ENTRY(wait, Out request, StatusOut status, Out ierror)
{
    MPI_Fint was = *request;
    MPI_Request c_request = Request(request);
    int code = MPI_Wait(&c_request, status_out(status));
    *request = Request_int(c_request);
    /* Any other error is that of the operation, which is over then. */
    if (*request != was || class_of(code) != MPI_ERR_REQUEST) finished(was);
    give(ierror, code);
}

ENTRY(test, Out request, Out flag, StatusOut status, Out ierror)
{
    MPI_Fint was = *request;
    MPI_Request c_request = Request(request);
    int code = MPI_Test(&c_request, flag, status_out(status));
    *request = Request_int(c_request);
    if (*request != was || *flag) finished(was);
    give(ierror, code);
}

ENTRY(waitall, In count, Out array_of_requests, StatusOut array_of_statuses, Out ierror)
{
    Requests all;
    Requests_from(&all, array_of_requests, *count);
    Statuses each = statuses_for(array_of_statuses, *count);
    int code = MPI_Waitall(*count, all.at, each.at);
    ended(&all, array_of_requests, *count, code, 1, &each);
    Requests_drop(&all);
    give(ierror, code);
}

ENTRY(testall, In count, Out array_of_requests, Out flag, StatusOut array_of_statuses, Out ierror)
{
    Requests all;
    Requests_from(&all, array_of_requests, *count);
    Statuses each = statuses_for(array_of_statuses, *count);
    int code = MPI_Testall(*count, all.at, flag, each.at);
    ended(&all, array_of_requests, *count, code, *flag, &each);
    Requests_drop(&all);
    give(ierror, code);
}

/* After a call that ended the request at `index`. */
static void ended_one(const Requests *now, Out array, int n, int index)
{
    MPI_Fint was = index >= 0 && index < n ? array[index] : MPI_UNDEFINED;
    for (int i = 0; i < n; i++) array[i] = Request_int(now->at[i]);
    if (was != MPI_UNDEFINED) finished(was);
}

ENTRY(waitany, In count, Out array_of_requests, Out index, StatusOut status, Out ierror)
{
    int which = MPI_UNDEFINED;
    Requests all;
    Requests_from(&all, array_of_requests, *count);
    int code = MPI_Waitany(*count, all.at, &which, status_out(status));
    ended_one(&all, array_of_requests, *count, which);
    Requests_drop(&all);
    *index = one_based(which);
    give(ierror, code);
}

ENTRY(testany, In count, Out array_of_requests, Out index, Out flag, StatusOut status, Out ierror)
{
    int which = MPI_UNDEFINED;
    Requests all;
    Requests_from(&all, array_of_requests, *count);
    int code = MPI_Testany(*count, all.at, &which, flag, status_out(status));
    ended_one(&all, array_of_requests, *count, which);
    Requests_drop(&all);
    *index = one_based(which);
    give(ierror, code);
}

/* After a call that ended `n` requests, which it has named. */
static void ended_some(const Requests *now, Out array, int count, int n, Out indices)
{
    for (int i = 0; i < n; i++) {
        MPI_Fint was = array[indices[i]];
        array[indices[i]] = Request_int(now->at[indices[i]]);
        finished(was);
        indices[i] = one_based(indices[i]);
    }
    if (n == MPI_UNDEFINED) Requests_to(now, array, count);
}

ENTRY(waitsome, In incount, Out array_of_requests, Out outcount, Out array_of_indices,
    StatusOut array_of_statuses, Out ierror)
{
    int n = MPI_UNDEFINED;
    Requests all;
    Requests_from(&all, array_of_requests, *incount);
    int code = MPI_Waitsome(*incount, all.at, &n, array_of_indices, statuses(array_of_statuses));
    ended_some(&all, array_of_requests, *incount, n, array_of_indices);
    Requests_drop(&all);
    *outcount = n;
    give(ierror, code);
}

ENTRY(testsome, In incount, Out array_of_requests, Out outcount, Out array_of_indices,
    StatusOut array_of_statuses, Out ierror)
{
    int n = MPI_UNDEFINED;
    Requests all;
    Requests_from(&all, array_of_requests, *incount);
    int code = MPI_Testsome(*incount, all.at, &n, array_of_indices, statuses(array_of_statuses));
    ended_some(&all, array_of_requests, *incount, n, array_of_indices);
    Requests_drop(&all);
    *outcount = n;
    give(ierror, code);
}

/* ------------------------------------------------------------ asking without ending */

/* Where the answer is yes, the data must be there. */

ENTRY(request_get_status, In request, Out flag, StatusOut status, Out ierror)
{
    int code = MPI_Request_get_status(Request(request), flag, status_out(status));
    if (code == MPI_SUCCESS && *flag) landed(*request);
    give(ierror, code);
}

ENTRY(request_get_status_all, In count, In array_of_requests, Out flag, StatusOut array_of_statuses, Out ierror)
{
    Requests all;
    Requests_from(&all, array_of_requests, *count);
    int code = MPI_Request_get_status_all(*count, all.at, flag, statuses(array_of_statuses));
    Requests_drop(&all);
    for (int i = 0; code == MPI_SUCCESS && *flag && i < *count; i++) landed(array_of_requests[i]);
    give(ierror, code);
}

ENTRY(request_get_status_any, In count, In array_of_requests, Out index, Out flag, StatusOut status, Out ierror)
{
    int which = MPI_UNDEFINED;
    Requests all;
    Requests_from(&all, array_of_requests, *count);
    int code = MPI_Request_get_status_any(*count, all.at, &which, flag, status_out(status));
    Requests_drop(&all);
    if (code == MPI_SUCCESS && *flag && which != MPI_UNDEFINED) landed(array_of_requests[which]);
    *index = one_based(which);
    give(ierror, code);
}

ENTRY(request_get_status_some, In incount, In array_of_requests, Out outcount, Out array_of_indices,
    StatusOut array_of_statuses, Out ierror)
{
    int n = MPI_UNDEFINED;
    Requests all;
    Requests_from(&all, array_of_requests, *incount);
    int code = MPI_Request_get_status_some(*incount, all.at, &n, array_of_indices, statuses(array_of_statuses));
    Requests_drop(&all);
    for (int i = 0; i < n; i++) {
        landed(array_of_requests[array_of_indices[i]]);
        array_of_indices[i] = one_based(array_of_indices[i]);
    }
    *outcount = n;
    give(ierror, code);
}

/* ------------------------------------------------------------ starting and freeing */

ENTRY(start, Out request, Out ierror)
{
    started(*request);
    CHANGES(Request, request, MPI_Start(&made));
}

ENTRY(startall, In count, Out array_of_requests, Out ierror)
{
    Requests all;
    Requests_from(&all, array_of_requests, *count);
    for (int i = 0; i < *count; i++) started(array_of_requests[i]);
    int code = MPI_Startall(*count, all.at);
    Requests_to(&all, array_of_requests, *count);
    Requests_drop(&all);
    give(ierror, code);
}

ENTRY(request_free, Out request, Out ierror)
{
    forgotten(*request);
    CHANGES(Request, request, MPI_Request_free(&made));
}
