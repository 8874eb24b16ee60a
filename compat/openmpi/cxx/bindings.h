/* The C++ bindings of MPI-2 (MPI-2.2, section 16.1) as programs of Open MPI 4 and older know them: each object is a
 * table of virtual functions and a handle of C, and the functions lie in the tables in the order in which they are
 * declared here. A program has most of these functions inside, from the header that it was compiled with; what it takes
 * from the library are the tables, the predefined objects, and the functions that are not inline.
 *
 * No function here looks at what C returns: an error has been told to the error handler (errors.cpp). */
#ifndef TERN_CXX_BINDINGS_H
#define TERN_CXX_BINDINGS_H

#include <mpi.h>

namespace MPI {

typedef MPI_Aint Aint;
typedef MPI_Fint Fint;
typedef MPI_Offset Offset;

class Comm_Null;
class Comm;
class Intracomm;
class Intercomm;
class Cartcomm;
class Graphcomm;
class Datatype;
class Errhandler;
class Group;
class Info;
class Op;
class Request;
class Status;
class Win;
class File;

typedef void User_function(const void *in, void *inout, int length, const Datatype &datatype);

} // namespace MPI

#include "objects.h"
#include "comm.h"

#endif
