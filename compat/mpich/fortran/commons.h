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
