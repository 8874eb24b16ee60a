/* Routines of MPI-1 that MPI-3.0 has removed from Fortran, and that old programs call. An address is an INTEGER there:
 * programs subtract two of them, which is right where both are cut in the same way. */
#include "glue.h"

ENTRY(address, void *location, Out address, Out ierror)
{
    MPI_Aint at = 0;
    give(ierror, MPI_Get_address(buffer_at(location), &at));
    *address = (MPI_Fint)at;
}

ENTRY(type_extent, In datatype, Out extent, Out ierror)
{
    MPI_Aint lower = 0, bytes = 0;
    give(ierror, MPI_Type_get_extent(Type(datatype), &lower, &bytes));
    *extent = (MPI_Fint)bytes;
}

ENTRY(type_lb, In datatype, Out displacement, Out ierror)
{
    MPI_Aint lower = 0, bytes = 0;
    give(ierror, MPI_Type_get_extent(Type(datatype), &lower, &bytes));
    *displacement = (MPI_Fint)lower;
}

ENTRY(type_ub, In datatype, Out displacement, Out ierror)
{
    MPI_Aint lower = 0, bytes = 0;
    give(ierror, MPI_Type_get_extent(Type(datatype), &lower, &bytes));
    *displacement = (MPI_Fint)(lower + bytes);
}

ENTRY(type_hvector, In count, In blocklength, In stride, In oldtype, Out newtype, Out ierror)
{
    MAKES(Type, newtype, MPI_Type_create_hvector(*count, *blocklength, *stride, Type(oldtype), &made));
}

/* Displacements as C has them. Free them. */
static MPI_Aint *widened(In displacements, int count)
{
    MPI_Aint *wide = malloc((count > 0 ? (size_t)count : 1) * sizeof *wide);
    if (wide == NULL) abort();
    for (int i = 0; i < count; i++) wide[i] = displacements[i];
    return wide;
}

ENTRY(type_hindexed, In count, In blocklengths, In displacements, In oldtype, Out newtype, Out ierror)
{
    MPI_Aint *wide = widened(displacements, *count);
    MAKES(Type, newtype, MPI_Type_create_hindexed(*count, blocklengths, wide, Type(oldtype), &made));
    free(wide);
}

/* MPI_LB and MPI_UB among the types mark where the datatype begins and ends, which the removed function of C knows. */
ENTRY(type_struct, In count, In blocklengths, In displacements, In types, Out newtype, Out ierror)
{
    MPI_Aint *wide = widened(displacements, *count);
    Types parts;
    Types_from(&parts, types, *count);
    MAKES(Type, newtype, MPI_Type_struct(*count, blocklengths, wide, parts.at, &made));
    Types_drop(&parts);
    free(wide);
}

ENTRY(errhandler_create, MPI_Comm_errhandler_function *function, Out errhandler, Out ierror)
{
    void pmpi_comm_create_errhandler_(MPI_Comm_errhandler_function *, Out, Out);
    pmpi_comm_create_errhandler_(function, errhandler, ierror);
}

ENTRY(errhandler_set, In comm, In errhandler, Out ierror)
{
    give(ierror, MPI_Comm_set_errhandler(Comm(comm), Errhandler(errhandler)));
}

ENTRY(errhandler_get, In comm, Out errhandler, Out ierror)
{
    MAKES(Errhandler, errhandler, MPI_Comm_get_errhandler(Comm(comm), &made));
}
