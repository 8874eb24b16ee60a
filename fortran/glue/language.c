/*
 * Chapter 19: what only Fortran has. Variables whose address is their meaning, and what the library is told of Fortran
 * (section 20.5).
 */
#include "glue.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------ special addresses: common blocks */

/*
 * Among the initialized data, so that the linker takes these for the common blocks of a program or of a library. If
 * they were as uninitialized as those, each library would get blocks of its own. Of two that a program opens by dlopen,
 * ours would then know the blocks of the first only. They are aligned as gfortran aligns a common block.
 */
#ifndef TERN_OTHER_COMMONS
#define COMMON __attribute__((section(".data"), aligned(64)))
COMMON MPI_Fint mpi_fortran_bottom_, mpi_fortran_in_place_, mpi_fortran_buffer_automatic_;
COMMON MPI_Fint mpi_fortran_errcodes_ignore_, mpi_fortran_unweighted_, mpi_fortran_weights_empty_;
COMMON MPI_Status mpi_fortran_status_ignore_, mpi_fortran_statuses_ignore_;
COMMON char mpi_fortran_argv_null_ = ' ', mpi_fortran_argvs_null_ = ' ';
#endif

#ifdef TERN_FOREIGN
/* C programs ask where Fortran's ignored statuses are; the main library of another ABI has the variables. */
__attribute__((constructor)) static void tell_of_ignored_statuses(void)
{
    MPI_F_STATUS_IGNORE = (MPI_Fint *)&mpi_fortran_status_ignore_;
    MPI_F_STATUSES_IGNORE = (MPI_Fint *)&mpi_fortran_statuses_ignore_;
    MPI_F08_STATUS_IGNORE = (MPI_F08_status *)&mpi_fortran_status_ignore_;
    MPI_F08_STATUSES_IGNORE = (MPI_F08_status *)&mpi_fortran_statuses_ignore_;
}
#endif

/* ------------------------------------------------------------ conversions between the two Fortran statuses */

ENTRY(status_f2f08, const MPI_Fint *f_status, MPI_F08_status *f08_status, Out ierror)
{
    give(ierror, PMPI_Status_f2f08(f_status, f08_status));
}

ENTRY(status_f082f, const MPI_F08_status *f08_status, MPI_Fint *f_status, Out ierror)
{
    give(ierror, PMPI_Status_f082f(f08_status, f_status));
}

/* ------------------------------------------------------------ what the library is told of Fortran (section 20.5) */

static void tell_number(MPI_Info info, const char *key, int value)
{
    char text[16];
    snprintf(text, sizeof text, "%d", value);
    PMPI_Info_set(info, key, text);
}

static void tell_supported(MPI_Info info)
{
    static const char *const keys[] = {
        "mpi_logical1_supported", "mpi_logical2_supported", "mpi_logical4_supported", "mpi_logical8_supported",
        "mpi_integer1_supported", "mpi_integer2_supported", "mpi_integer4_supported", "mpi_integer8_supported",
        "mpi_integer16_supported", "mpi_real4_supported", "mpi_real8_supported", "mpi_real16_supported",
        "mpi_complex8_supported", "mpi_complex16_supported", "mpi_complex32_supported",
        "mpi_double_complex_supported",
    };
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) PMPI_Info_set(info, keys[i], "true");
    PMPI_Info_set(info, "mpi_logical16_supported", "false");
    PMPI_Info_set(info, "mpi_real2_supported", "false");
    PMPI_Info_set(info, "mpi_complex4_supported", "false");
}

/* Other libraries of the ABI may have set both themselves, and take it for an error to be told again. */
static int knows_sizes(void)
{
    MPI_Info known = MPI_INFO_NULL;
    if (PMPI_Abi_get_fortran_info(&known) != MPI_SUCCESS || known == MPI_INFO_NULL) return 0;
    PMPI_Info_free(&known);
    return 1;
}

static void tell_sizes(void)
{
    MPI_Info info;
    if (PMPI_Info_create(&info) != MPI_SUCCESS) return;
    tell_number(info, "mpi_logical_size", sizeof(MPI_Fint));
    tell_number(info, "mpi_integer_size", sizeof(MPI_Fint));
    tell_number(info, "mpi_real_size", sizeof(float));
    tell_number(info, "mpi_double_precision_size", sizeof(double));
    tell_supported(info);
    PMPI_Abi_set_fortran_info(info);
    PMPI_Info_free(&info);
}

static int knows_logicals(void)
{
    MPI_Fint yes, no;
    int known = 0;
    return PMPI_Abi_get_fortran_booleans(sizeof yes, &yes, &no, &known) == MPI_SUCCESS && known;
}

static void tell_logicals(void)
{
    MPI_Fint yes = 1, no = 0;
    PMPI_Abi_set_fortran_booleans(sizeof yes, &yes, &no);
}

/*
 * Once, at the latest when a Fortran program has started MPI. .FALSE. is 0 with every compiler, and 1 is read as
 * .TRUE. by those that store -1. A library that has been told otherwise before keeps what it knows.
 */
void tell_of_fortran(void)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    if (atomic_flag_test_and_set(&told)) return;
    if (!knows_sizes()) tell_sizes();
    if (!knows_logicals()) tell_logicals();
}

/* Tern's library takes it before MPI_Init, too. So it is known where C starts MPI. */
#ifndef TERN_FOREIGN
__attribute__((constructor)) static void tell_early(void)
{
    if (tern_datatype_is_ready != NULL) tell_of_fortran();
}
#endif

ENTRY(init, Out ierror)
{
    int code = MPI_Init(NULL, NULL);
    if (code == MPI_SUCCESS) tell_of_fortran();
    give(ierror, code);
}

ENTRY(init_thread, In required, Out provided, Out ierror)
{
    int code = MPI_Init_thread(NULL, NULL, *required, provided);
    if (code == MPI_SUCCESS) tell_of_fortran();
    give(ierror, code);
}

ENTRY(finalize, Out ierror)
{
    give(ierror, MPI_Finalize());
}

ENTRY(info_create_env, Out info, Out ierror)
{
    MAKES(Info, info, MPI_Info_create_env(0, NULL, &made));
}

/* ------------------------------------------------------------ values of info objects */

/* Deprecated: at most `valuelen` characters. */
ENTRY(info_get, In info, TextIn key, In valuelen, TextOut value, Out flag, Out ierror, size_t key_len,
    size_t value_len)
{
    char *c_key = text(key, key_len);
    int room = (size_t)*valuelen < value_len ? *valuelen : (int)value_len;
    char *c_value = calloc((size_t)(room > 0 ? room : 0) + 1, 1);
    if (c_value == NULL) abort();
    int code = MPI_Info_get(Info(info), c_key, room, c_value, flag);
    if (code == MPI_SUCCESS && *flag) pad(value, value_len, c_value);
    free(c_value);
    free(c_key);
    give(ierror, code);
}

/* `buflen` counts characters; C's has one more for its null. */
ENTRY(info_get_string, In info, TextIn key, Out buflen, TextOut value, Out flag, Out ierror, size_t key_len,
    size_t value_len)
{
    char *c_key = text(key, key_len);
    int room = *buflen > 0 && (size_t)*buflen > value_len ? (int)value_len : *buflen;
    int c_length = room > 0 ? room + 1 : 0;
    char *c_value = calloc((size_t)c_length + 1, 1);
    if (c_value == NULL) abort();
    int code = MPI_Info_get_string(Info(info), c_key, &c_length, c_value, flag);
    if (code == MPI_SUCCESS && *flag) {
        if (room > 0) pad(value, value_len, c_value);
        *buflen = c_length > 0 ? c_length - 1 : 0;
    }
    free(c_value);
    free(c_key);
    give(ierror, code);
}

/* ------------------------------------------------------------ functions, and what has no twin in C */

#define FUNCTION(Result, name, body, ...) \
    Result pmpi_##name##_(__VA_ARGS__); \
    Result mpi_##name##_(__VA_ARGS__) __attribute__((weak, alias("pmpi_" #name "_"))); \
    Result mpi_##name##_f08_(__VA_ARGS__) __attribute__((weak, alias("pmpi_" #name "_"))); \
    Result pmpi_##name##_f08_(__VA_ARGS__) __attribute__((weak, alias("pmpi_" #name "_"))); \
    Result pmpi_##name##_(__VA_ARGS__) \
    { \
        return body; \
    }

FUNCTION(double, wtime, MPI_Wtime(), void)
FUNCTION(double, wtick, MPI_Wtick(), void)
FUNCTION(MPI_Aint, aint_add, MPI_Aint_add(*base, *disp), AintIn base, AintIn disp)
FUNCTION(MPI_Aint, aint_diff, MPI_Aint_diff(*addr1, *addr2), AintIn addr1, AintIn addr2)

ENTRY(pcontrol, In level)
{
    MPI_Pcontrol(*level);
}

#define OF_ANY(name, body, ...) \
    void pmpi_##name##_f08ts(__VA_ARGS__); \
    TWIN(mpi_##name##_f08ts, pmpi_##name##_f08ts, __VA_ARGS__); \
    TWIN(mpi_##name##_fts, pmpi_##name##_f08ts, __VA_ARGS__); \
    TWIN(pmpi_##name##_fts, pmpi_##name##_f08ts, __VA_ARGS__); \
    void pmpi_##name##_f08ts(__VA_ARGS__) \
    { \
        body; \
    }

/* The compiler must believe that the buffer is used here: that is all. */
OF_ANY(f_sync_reg, (void)buffer, const Descriptor *buffer)

OF_ANY(sizeof, *size = (MPI_Fint)x->element_bytes; give(ierror, MPI_SUCCESS), const Descriptor *x, Out size, Out ierror)

void pmpi_f_sync_reg_(void *buffer);
TWIN(mpi_f_sync_reg_, pmpi_f_sync_reg_, void *buffer);
void pmpi_f_sync_reg_(void *buffer)
{
    (void)buffer;
}
