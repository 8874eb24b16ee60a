/* Predefined objects and plain functions that the project's own test programs name. */
#ifndef TERN_CXX_CONSTANTS_H
#define TERN_CXX_CONSTANTS_H

#include "bindings.h"

namespace MPI {

extern Intracomm COMM_WORLD;
extern const Datatype INT, DOUBLE;
extern const Op SUM;
extern const Errhandler ERRORS_ARE_FATAL, ERRORS_THROW_EXCEPTIONS;
const int ANY_SOURCE = MPI_ANY_SOURCE;

inline void Init(int &argc, char **&argv) { MPI_Init(&argc, &argv); }
inline void Finalize() { MPI_Finalize(); }

} // namespace MPI

#endif
