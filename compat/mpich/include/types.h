/* Types, and constants that are variables. */
#include <stddef.h>

typedef int MPI_Comm;
typedef int MPI_Group;
typedef int MPI_Datatype;
typedef int MPI_Op;
typedef int MPI_Info;
typedef int MPI_Errhandler;
typedef int MPI_Request;
typedef int MPI_Message;
typedef int MPI_Session;
typedef int MPI_Win;
typedef struct ADIOI_FileD *MPI_File;
typedef struct MPIR_T_enum_s *MPI_T_enum;
typedef struct MPIR_T_cvar_handle_s *MPI_T_cvar_handle;
typedef struct MPIR_T_pvar_handle_s *MPI_T_pvar_handle;
typedef struct MPIR_T_pvar_session_s *MPI_T_pvar_session;
typedef struct MPIR_T_event_registration_s *MPI_T_event_registration;
typedef struct MPIR_T_event_instance_s *MPI_T_event_instance;
typedef enum MPI_T_cb_safety { TERN_CB_SAFETY_END = 4 } MPI_T_cb_safety;
typedef enum MPI_T_source_order { TERN_SOURCE_ORDER_END = 2 } MPI_T_source_order;

typedef long MPI_Aint;
typedef int MPI_Fint;
typedef long long MPI_Count;
typedef long long MPI_Offset;

typedef struct MPI_Status {
    int count_lo;
    int count_hi_and_cancelled;
    int MPI_SOURCE;
    int MPI_TAG;
    int MPI_ERROR;
} MPI_Status;
typedef MPI_Status MPI_F08_status;

#ifdef __cplusplus
extern "C" {
#endif
extern int *const MPI_UNWEIGHTED;
extern int *const MPI_WEIGHTS_EMPTY;
extern MPI_T_pvar_handle const MPI_T_PVAR_ALL_HANDLES;
extern MPI_Fint *MPI_F_STATUS_IGNORE, *MPI_F_STATUSES_IGNORE;
extern MPI_F08_status *MPI_F08_STATUS_IGNORE, *MPI_F08_STATUSES_IGNORE;

int MPIR_Dup_fn(MPI_Comm, int, void *, void *, void *, int *);
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
#define MPI_NULL_COPY_FN ((MPI_Copy_function *)0)
#define MPI_NULL_DELETE_FN ((MPI_Delete_function *)0)
#define MPI_DUP_FN MPIR_Dup_fn
#define MPI_COMM_NULL_COPY_FN ((MPI_Comm_copy_attr_function *)0)
#define MPI_COMM_NULL_DELETE_FN ((MPI_Comm_delete_attr_function *)0)
#define MPI_COMM_DUP_FN ((MPI_Comm_copy_attr_function *)MPI_DUP_FN)
#define MPI_TYPE_NULL_COPY_FN ((MPI_Type_copy_attr_function *)0)
#define MPI_TYPE_NULL_DELETE_FN ((MPI_Type_delete_attr_function *)0)
#define MPI_TYPE_DUP_FN ((MPI_Type_copy_attr_function *)MPI_DUP_FN)
#define MPI_WIN_NULL_COPY_FN ((MPI_Win_copy_attr_function *)0)
#define MPI_WIN_NULL_DELETE_FN ((MPI_Win_delete_attr_function *)0)
#define MPI_WIN_DUP_FN ((MPI_Win_copy_attr_function *)MPI_DUP_FN)
#define MPI_CONVERSION_FN_NULL ((MPI_Datarep_conversion_function *)0)
#define MPI_CONVERSION_FN_NULL_C ((MPI_Datarep_conversion_function_c *)0)
