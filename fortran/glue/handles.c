/*
 * Conversions of handles between C and Fortran (section 19.3.4), for C programs: a Fortran handle is the integer of
 * section 20.3. Nothing here needs Fortran or another part of this folder, so a program can have it without
 * libmpifort_abi (scripts/stage-fortran.sh puts it in libmpi_abi_c2f.a as well) and runs with any library of the
 * standard ABI.
 */
#include "language.h"

#define CONVERSIONS(Kind, Handle) \
    Handle PMPI_##Kind##_f2c(MPI_Fint integer) \
    { \
        return MPI_##Kind##_fromint(integer); \
    } \
    MPI_Fint PMPI_##Kind##_c2f(Handle handle) \
    { \
        return MPI_##Kind##_toint(handle); \
    } \
    TOOLS_MAY_DEFINE(Handle, Kind##_f2c, (MPI_Fint)) \
    TOOLS_MAY_DEFINE(MPI_Fint, Kind##_c2f, (Handle))

CONVERSIONS(Comm, MPI_Comm)
CONVERSIONS(Errhandler, MPI_Errhandler)
CONVERSIONS(File, MPI_File)
CONVERSIONS(Group, MPI_Group)
CONVERSIONS(Info, MPI_Info)
CONVERSIONS(Message, MPI_Message)
CONVERSIONS(Op, MPI_Op)
CONVERSIONS(Request, MPI_Request)
CONVERSIONS(Session, MPI_Session)
CONVERSIONS(Type, MPI_Datatype)
CONVERSIONS(Win, MPI_Win)
