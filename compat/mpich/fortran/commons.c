/* The common blocks of MPICH, for programs that do not bring their own. */
#include "glue.h"

__typeof__(mpipriv1_) mpipriv1_;
__typeof__(mpipriv2_) mpipriv2_;
/* Aligned as gfortran aligns a common block. */
__typeof__(mpiprivc_) mpiprivc_ __attribute__((aligned(16))) = {' ', ' '};
MPI_Fint mpifcmb5_, mpifcmb9_, tern_mpich_buffer_automatic;
