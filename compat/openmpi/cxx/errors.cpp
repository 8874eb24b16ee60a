/* Error handlers in C++, and exceptions.
 *
 * No exception can pass through libmpi.so.40. So this library, which a program's linker names before that one, has each C function
 * too: it calls the real one by its PMPI name, and throws afterwards what a handler has left. */
#include "callbacks.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <utility>

extern "C" {
extern struct tern_errhandler_object ompi_mpi_errors_throw_exceptions;
}

static thread_local std::exception_ptr kept;

int tern_keep_exception()
{
    kept = std::current_exception();
    return MPI_ERR_OTHER;
}

/* The end of a call. */
static int told(int code)
{
    if (kept) std::rethrow_exception(std::exchange(kept, nullptr));
    return code;
}

/* A call that has gone well has called no handler, most of all. */
static inline int checked(int code) { return __builtin_expect(code == MPI_SUCCESS, 1) ? code : told(code); }

namespace {

/* Handlers have no state in C, so each function of the program gets one of these, and keeps it. */
constexpr int HANDLERS_MAX = 64;

template <typename Kind, int Number> void handle(typename Kind::Handle *object, int *code, ...)
{
    tern_guarded([&] {
        Kind::call(Kind::functions[Number], *object, code);
        return MPI_SUCCESS;
    });
}

template <typename Kind, int... Numbers> typename Kind::InC *numbered(int number, std::integer_sequence<int, Numbers...>)
{
    static constexpr typename Kind::InC *all[] = {handle<Kind, Numbers>...};
    return all[number];
}

/* The function in C that stands for one of the program's. */
template <typename Kind> typename Kind::InC *in_c(typename Kind::Function *function)
{
    for (int i = 0; i < HANDLERS_MAX; i++) {
        typename Kind::Function *none = nullptr;
        bool is_free = __atomic_compare_exchange_n(
            &Kind::functions[i], &none, function, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
        if (is_free || none == function) return numbered<Kind>(i, std::make_integer_sequence<int, HANDLERS_MAX>());
    }
    std::fprintf(stderr, "Tern: a program has more than %d error handlers in C++\n", HANDLERS_MAX);
    std::abort();
}

struct OfComm {
    using Handle = MPI_Comm;
    using Function = MPI::Comm::Errhandler_function;
    using InC = MPI_Comm_errhandler_function;
    static inline Function *functions[HANDLERS_MAX];
    static void call(Function *function, MPI_Comm handle, int *code)
    {
        tern_with_comm(handle, [&](MPI::Comm &comm) { function(comm, code); });
    }
    static void thrower(MPI::Comm &, int *code, ...) { throw MPI::Exception(*code); }
    static int create(InC *function, MPI_Errhandler *handler) { return PMPI_Comm_create_errhandler(function, handler); }
};

struct OfWin {
    using Handle = MPI_Win;
    using Function = MPI::Win::Errhandler_function;
    using InC = MPI_Win_errhandler_function;
    static inline Function *functions[HANDLERS_MAX];
    static void call(Function *function, MPI_Win handle, int *code)
    {
        MPI::Win win(handle);
        function(win, code);
    }
    static void thrower(MPI::Win &, int *code, ...) { throw MPI::Exception(*code); }
    static int create(InC *function, MPI_Errhandler *handler) { return PMPI_Win_create_errhandler(function, handler); }
};

struct OfFile {
    using Handle = MPI_File;
    using Function = MPI::File::Errhandler_function;
    using InC = MPI_File_errhandler_function;
    static inline Function *functions[HANDLERS_MAX];
    static void call(Function *function, MPI_File handle, int *code)
    {
        MPI::File file(handle);
        function(file, code);
    }
    static void thrower(MPI::File &, int *code, ...) { throw MPI::Exception(*code); }
    static int create(InC *function, MPI_Errhandler *handler) { return PMPI_File_create_errhandler(function, handler); }
};

template <typename Kind> MPI::Errhandler created(typename Kind::Function *function)
{
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    checked(Kind::create(in_c<Kind>(function), &handler));
    return handler;
}

/* MPI::ERRORS_THROW_EXCEPTIONS is one handle for communicators, windows and files. A handler in C is for one kind, so there
 * is one for each, made when a program first asks. */
const MPI_Errhandler THROW = (MPI_Errhandler)&ompi_mpi_errors_throw_exceptions;

template <typename Kind> MPI_Errhandler throwing()
{
    static const MPI_Errhandler made = [] {
        MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
        Kind::create(in_c<Kind>(Kind::thrower), &handler);
        return handler;
    }();
    return made;
}

template <typename Kind> MPI_Errhandler real(MPI_Errhandler handler)
{
    return handler == THROW ? throwing<Kind>() : handler;
}

/* The handler that a program got, by the name under which it knows it. */
template <typename Kind> int named(int code, MPI_Errhandler *handler)
{
    if (code == MPI_SUCCESS && *handler == throwing<Kind>()) {
        PMPI_Errhandler_free(handler);
        *handler = THROW;
    }
    return checked(code);
}

} // namespace

namespace MPI {

Errhandler Comm::Create_errhandler(Errhandler_function *function) { return created<OfComm>(function); }
Errhandler Win::Create_errhandler(Errhandler_function *function) { return created<OfWin>(function); }
Errhandler File::Create_errhandler(Errhandler_function *function) { return created<OfFile>(function); }

} // namespace MPI

extern "C" {

int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler)
{
    return checked(PMPI_Comm_set_errhandler(comm, real<OfComm>(handler)));
}

int MPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler handler) { return MPI_Comm_set_errhandler(comm, handler); }

int MPI_Win_set_errhandler(MPI_Win win, MPI_Errhandler handler)
{
    return checked(PMPI_Win_set_errhandler(win, real<OfWin>(handler)));
}

int MPI_File_set_errhandler(MPI_File file, MPI_Errhandler handler)
{
    return checked(PMPI_File_set_errhandler(file, real<OfFile>(handler)));
}

int MPI_Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler *handler)
{
    return named<OfComm>(PMPI_Comm_get_errhandler(comm, handler), handler);
}

int MPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler *handler) { return MPI_Comm_get_errhandler(comm, handler); }

int MPI_Win_get_errhandler(MPI_Win win, MPI_Errhandler *handler)
{
    return named<OfWin>(PMPI_Win_get_errhandler(win, handler), handler);
}

int MPI_File_get_errhandler(MPI_File file, MPI_Errhandler *handler)
{
    return named<OfFile>(PMPI_File_get_errhandler(file, handler), handler);
}

int MPI_Errhandler_free(MPI_Errhandler *handler)
{
    if (*handler != THROW) return checked(PMPI_Errhandler_free(handler));
    *handler = MPI_ERRHANDLER_NULL;
    return MPI_SUCCESS;
}

/* A handler that is called by hand is no error of the call. */
int MPI_Comm_call_errhandler(MPI_Comm comm, int code) { return told(PMPI_Comm_call_errhandler(comm, code)); }
int MPI_Win_call_errhandler(MPI_Win win, int code) { return told(PMPI_Win_call_errhandler(win, code)); }
int MPI_File_call_errhandler(MPI_File file, int code) { return told(PMPI_File_call_errhandler(file, code)); }

/* All others, which scripts/stage-cxx.sh makes of mpi.h. */
#include "checked.h"

} // extern "C"
