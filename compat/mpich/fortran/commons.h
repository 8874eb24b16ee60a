/* The common blocks of MPICH, whose addresses are constants, and how its keys of attributes differ in Fortran. */
#define TERN_OTHER_COMMONS

extern struct {
    MPI_Fint bottom, in_place;
    MPI_Fint status_ignore[MPI_F_STATUS_SIZE];
} mpipriv1_;
extern struct {
    MPI_Fint statuses_ignore[MPI_F_STATUS_SIZE];
    MPI_Fint errcodes_ignore;
} mpipriv2_;
extern struct {
    char argvs_null, argv_null;
} mpiprivc_;
extern MPI_Fint mpifcmb5_, mpifcmb9_;
/* No program of MPICH before 5.0 has this one. */
extern MPI_Fint tern_mpich_buffer_automatic;

#define mpi_fortran_bottom_ mpipriv1_.bottom
#define mpi_fortran_in_place_ mpipriv1_.in_place
#define mpi_fortran_status_ignore_ (*(MPI_Status *)mpipriv1_.status_ignore)
#define mpi_fortran_statuses_ignore_ (*(MPI_Status *)mpipriv2_.statuses_ignore)
#define mpi_fortran_errcodes_ignore_ mpipriv2_.errcodes_ignore
#define mpi_fortran_argv_null_ mpiprivc_.argv_null
#define mpi_fortran_argvs_null_ mpiprivc_.argvs_null
#define mpi_fortran_unweighted_ mpifcmb5_
#define mpi_fortran_weights_empty_ mpifcmb9_
#define mpi_fortran_buffer_automatic_ tern_mpich_buffer_automatic

/* The predefined keys, of which Fortran has the next number. */
#define KEYVAL(number) ((((number) >> 24) == 0x64 || ((number) >> 24) == 0x66) && (number) % 2 == 0 \
    ? (number) - 1 : (number))

/* The module mpi_f08 has variables of its own in their places. */
#define IS(at, constant) ((const void *)(at) == (const void *)&mpi_fortran_##constant##_ || \
    (const void *)(at) == (const void *)&tern_f08_##constant)

extern MPI_Fint MPIR_F08_MPI_BOTTOM, MPIR_F08_MPI_IN_PLACE;
extern MPI_Status MPIR_F08_MPI_STATUS_IGNORE_OBJ, MPIR_F08_MPI_STATUSES_IGNORE_OBJ;
extern MPI_Fint __mpi_f08_link_constants_MOD_mpi_errcodes_ignore, __mpi_f08_link_constants_MOD_mpi_unweighted;
extern MPI_Fint __mpi_f08_link_constants_MOD_mpi_weights_empty;
extern char __mpi_f08_link_constants_MOD_mpi_argv_null, __mpi_f08_link_constants_MOD_mpi_argvs_null;
#define tern_f08_bottom MPIR_F08_MPI_BOTTOM
#define tern_f08_in_place MPIR_F08_MPI_IN_PLACE
#define tern_f08_status_ignore MPIR_F08_MPI_STATUS_IGNORE_OBJ
#define tern_f08_statuses_ignore MPIR_F08_MPI_STATUSES_IGNORE_OBJ
#define tern_f08_errcodes_ignore __mpi_f08_link_constants_MOD_mpi_errcodes_ignore
#define tern_f08_unweighted __mpi_f08_link_constants_MOD_mpi_unweighted
#define tern_f08_weights_empty __mpi_f08_link_constants_MOD_mpi_weights_empty
#define tern_f08_argv_null __mpi_f08_link_constants_MOD_mpi_argv_null
#define tern_f08_argvs_null __mpi_f08_link_constants_MOD_mpi_argvs_null
