/* Types, and constants that are variables. */
#include <stddef.h>

typedef struct ompi_communicator_t *MPI_Comm;
typedef struct ompi_group_t *MPI_Group;
typedef struct ompi_datatype_t *MPI_Datatype;
typedef struct ompi_op_t *MPI_Op;
typedef struct ompi_info_t *MPI_Info;
typedef struct ompi_errhandler_t *MPI_Errhandler;
typedef struct ompi_request_t *MPI_Request;
typedef struct ompi_message_t *MPI_Message;
typedef struct ompi_instance_t *MPI_Session;
typedef struct ompi_win_t *MPI_Win;
typedef struct ompi_file_t *MPI_File;
typedef struct mca_base_var_enum_t *MPI_T_enum;
typedef struct ompi_mpit_cvar_handle_t *MPI_T_cvar_handle;
typedef struct mca_base_pvar_handle_t *MPI_T_pvar_handle;
typedef struct mca_base_pvar_session_t *MPI_T_pvar_session;
typedef struct tern_event_registration *MPI_T_event_registration;
typedef struct tern_event_instance *MPI_T_event_instance;
typedef enum MPI_T_cb_safety { TERN_CB_SAFETY_END = 4 } MPI_T_cb_safety;
typedef enum MPI_T_source_order { TERN_SOURCE_ORDER_END = 2 } MPI_T_source_order;

typedef long MPI_Aint;
typedef int MPI_Fint;
typedef long long MPI_Count;
typedef long long MPI_Offset;

typedef struct MPI_Status {
    int MPI_SOURCE;
    int MPI_TAG;
    int MPI_ERROR;
    int cancelled;
    size_t bytes;
} MPI_Status;
typedef MPI_Status MPI_F08_status;

#ifdef __cplusplus
extern "C" {
#endif
struct tern_op_object { char bytes[2048]; };
extern struct tern_op_object ompi_mpi_op_null, ompi_mpi_op_sum, ompi_mpi_op_min, ompi_mpi_op_max;
extern struct tern_op_object ompi_mpi_op_prod, ompi_mpi_op_band, ompi_mpi_op_bor, ompi_mpi_op_bxor;
extern struct tern_op_object ompi_mpi_op_land, ompi_mpi_op_lor, ompi_mpi_op_lxor, ompi_mpi_op_minloc;
extern struct tern_op_object ompi_mpi_op_maxloc, ompi_mpi_op_replace, ompi_mpi_op_no_op;
struct tern_comm_object { char bytes[512]; };
extern struct tern_comm_object ompi_mpi_comm_null, ompi_mpi_comm_world, ompi_mpi_comm_self;
struct tern_group_object { char bytes[256]; };
extern struct tern_group_object ompi_mpi_group_null, ompi_mpi_group_empty;
struct tern_win_object { char bytes[512]; };
extern struct tern_win_object ompi_mpi_win_null;
struct tern_file_object { char bytes[1536]; };
extern struct tern_file_object ompi_mpi_file_null;
struct tern_session_object { char bytes[512]; };
extern struct tern_session_object ompi_mpi_instance_null;
struct tern_message_object { char bytes[256]; };
extern struct tern_message_object ompi_message_null, ompi_message_no_proc;
struct tern_info_object { char bytes[256]; };
extern struct tern_info_object ompi_mpi_info_null, ompi_mpi_info_env;
struct tern_errhandler_object { char bytes[1024]; };
extern struct tern_errhandler_object ompi_mpi_errhandler_null, ompi_mpi_errors_are_fatal, ompi_mpi_errors_abort, ompi_mpi_errors_return;
struct tern_request_object { char bytes[256]; };
extern struct tern_request_object ompi_request_null;
struct tern_datatype_object { char bytes[512]; };
extern struct tern_datatype_object ompi_mpi_datatype_null, ompi_mpi_aint, ompi_mpi_count, ompi_mpi_offset;
extern struct tern_datatype_object ompi_mpi_packed, ompi_mpi_short, ompi_mpi_int, ompi_mpi_long;
extern struct tern_datatype_object ompi_mpi_long_long_int, ompi_mpi_unsigned_short, ompi_mpi_unsigned, ompi_mpi_unsigned_long;
extern struct tern_datatype_object ompi_mpi_unsigned_long_long, ompi_mpi_float, ompi_mpi_c_float_complex, ompi_mpi_cxx_cplex;
extern struct tern_datatype_object ompi_mpi_double, ompi_mpi_c_double_complex, ompi_mpi_cxx_dblcplex, ompi_mpi_logical;
extern struct tern_datatype_object ompi_mpi_integer, ompi_mpi_real, ompi_mpi_cplex, ompi_mpi_dblprec;
extern struct tern_datatype_object ompi_mpi_dblcplex, ompi_mpi_character, ompi_mpi_long_double, ompi_mpi_c_long_double_complex;
extern struct tern_datatype_object ompi_mpi_cxx_ldblcplex, ompi_mpi_float_int, ompi_mpi_double_int, ompi_mpi_long_int;
extern struct tern_datatype_object ompi_mpi_2int, ompi_mpi_short_int, ompi_mpi_longdbl_int, ompi_mpi_2real;
extern struct tern_datatype_object ompi_mpi_2dblprec, ompi_mpi_2integer, ompi_mpi_c_bool, ompi_mpi_cxx_bool;
extern struct tern_datatype_object ompi_mpi_wchar, ompi_mpi_int8_t, ompi_mpi_uint8_t, ompi_mpi_char;
extern struct tern_datatype_object ompi_mpi_signed_char, ompi_mpi_unsigned_char, ompi_mpi_byte, ompi_mpi_int16_t;
extern struct tern_datatype_object ompi_mpi_uint16_t, ompi_mpi_int32_t, ompi_mpi_uint32_t, ompi_mpi_int64_t;
extern struct tern_datatype_object ompi_mpi_uint64_t, ompi_mpi_logical1, ompi_mpi_integer1, ompi_mpi_logical2;
extern struct tern_datatype_object ompi_mpi_integer2, ompi_mpi_real2, ompi_mpi_logical4, ompi_mpi_integer4;
extern struct tern_datatype_object ompi_mpi_real4, ompi_mpi_complex4, ompi_mpi_logical8, ompi_mpi_integer8;
extern struct tern_datatype_object ompi_mpi_real8, ompi_mpi_complex8, ompi_mpi_integer16, ompi_mpi_real16;
extern struct tern_datatype_object ompi_mpi_complex16, ompi_mpi_complex32, ompi_mpi_lb, ompi_mpi_ub;
#ifdef __cplusplus
}
#endif

#ifdef __cplusplus
extern "C" {
#endif
extern MPI_Fint *MPI_F_STATUS_IGNORE, *MPI_F_STATUSES_IGNORE;
extern MPI_F08_status *MPI_F08_STATUS_IGNORE, *MPI_F08_STATUSES_IGNORE;

#define TERN_ATTRIBUTE_FUNCTIONS(Kind, Handle) \
    int OMPI_C_MPI_##Kind##DUP_FN(Handle, int, void *, void *, void *, int *); \
    int OMPI_C_MPI_##Kind##NULL_COPY_FN(Handle, int, void *, void *, void *, int *); \
    int OMPI_C_MPI_##Kind##NULL_DELETE_FN(Handle, int, void *, void *);
TERN_ATTRIBUTE_FUNCTIONS(, MPI_Comm)
TERN_ATTRIBUTE_FUNCTIONS(COMM_, MPI_Comm)
TERN_ATTRIBUTE_FUNCTIONS(TYPE_, MPI_Datatype)
TERN_ATTRIBUTE_FUNCTIONS(WIN_, MPI_Win)

int MPI_Address(const void *location, MPI_Aint *address);
int MPI_Type_extent(MPI_Datatype datatype, MPI_Aint *extent);
int MPI_Type_hindexed(int count, const int blocklengths[], const MPI_Aint displacements[], MPI_Datatype oldtype,
    MPI_Datatype *newtype);
int MPI_Type_hvector(int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype, MPI_Datatype *newtype);
int MPI_Type_lb(MPI_Datatype datatype, MPI_Aint *displacement);
int MPI_Type_struct(int count, const int blocklengths[], const MPI_Aint displacements[], const MPI_Datatype types[],
    MPI_Datatype *newtype);
int MPI_Type_ub(MPI_Datatype datatype, MPI_Aint *displacement);

#define TERN_FORTRAN_HANDLE(Kind, Handle) \
    MPI_Fint MPI_##Kind##_c2f(Handle handle); \
    Handle MPI_##Kind##_f2c(MPI_Fint integer); \
    MPI_Fint PMPI_##Kind##_c2f(Handle handle); \
    Handle PMPI_##Kind##_f2c(MPI_Fint integer);
TERN_FORTRAN_HANDLE(Comm, MPI_Comm)
TERN_FORTRAN_HANDLE(Errhandler, MPI_Errhandler)
TERN_FORTRAN_HANDLE(File, MPI_File)
TERN_FORTRAN_HANDLE(Group, MPI_Group)
TERN_FORTRAN_HANDLE(Info, MPI_Info)
TERN_FORTRAN_HANDLE(Message, MPI_Message)
TERN_FORTRAN_HANDLE(Op, MPI_Op)
TERN_FORTRAN_HANDLE(Request, MPI_Request)
TERN_FORTRAN_HANDLE(Session, MPI_Session)
TERN_FORTRAN_HANDLE(Type, MPI_Datatype)
TERN_FORTRAN_HANDLE(Win, MPI_Win)

#define TERN_FORTRAN_STATUS(name, From, To) \
    int MPI_Status_##name(const From *from, To *to); \
    int PMPI_Status_##name(const From *from, To *to);
TERN_FORTRAN_STATUS(f2c, MPI_Fint, MPI_Status)
TERN_FORTRAN_STATUS(c2f, MPI_Status, MPI_Fint)
TERN_FORTRAN_STATUS(f082c, MPI_F08_status, MPI_Status)
TERN_FORTRAN_STATUS(c2f08, MPI_Status, MPI_F08_status)
TERN_FORTRAN_STATUS(f2f08, MPI_Fint, MPI_F08_status)
TERN_FORTRAN_STATUS(f082f, MPI_F08_status, MPI_Fint)
#ifdef __cplusplus
}
#endif

#define MPI_VERSION 5
#define MPI_SUBVERSION 0
#define MPI_NULL_COPY_FN OMPI_C_MPI_NULL_COPY_FN
#define MPI_NULL_DELETE_FN OMPI_C_MPI_NULL_DELETE_FN
#define MPI_DUP_FN OMPI_C_MPI_DUP_FN
#define MPI_COMM_NULL_COPY_FN OMPI_C_MPI_COMM_NULL_COPY_FN
#define MPI_COMM_NULL_DELETE_FN OMPI_C_MPI_COMM_NULL_DELETE_FN
#define MPI_COMM_DUP_FN OMPI_C_MPI_COMM_DUP_FN
#define MPI_TYPE_NULL_COPY_FN OMPI_C_MPI_TYPE_NULL_COPY_FN
#define MPI_TYPE_NULL_DELETE_FN OMPI_C_MPI_TYPE_NULL_DELETE_FN
#define MPI_TYPE_DUP_FN OMPI_C_MPI_TYPE_DUP_FN
#define MPI_WIN_NULL_COPY_FN OMPI_C_MPI_WIN_NULL_COPY_FN
#define MPI_WIN_NULL_DELETE_FN OMPI_C_MPI_WIN_NULL_DELETE_FN
#define MPI_WIN_DUP_FN OMPI_C_MPI_WIN_DUP_FN
#define MPI_CONVERSION_FN_NULL ((MPI_Datarep_conversion_function *)0)
#define MPI_CONVERSION_FN_NULL_C ((MPI_Datarep_conversion_function_c *)0)

/* What Open MPI does not have, but the standard does: programs for tests are told of it by these. */
#define MPI_ERR_ERRHANDLER MPI_ERR_UNKNOWN
#define MPI_ERR_ABI MPI_ERR_UNKNOWN
