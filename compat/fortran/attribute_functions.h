/* The attribute functions of the standard as module procedures of mpi_f08, which hand over to those of mpif.h.
 * Included once, by the file of each ABI that has the module's other procedures.
 */
#define COPY_OF(Object) \
    const MPI_Fint *Object, const MPI_Fint *key, const MPI_Aint *state, const MPI_Aint *value, MPI_Aint *copied, \
        MPI_Fint *flag, MPI_Fint *ierror
#define DELETE_OF(Object) \
    const MPI_Fint *Object, const MPI_Fint *key, const MPI_Aint *value, const MPI_Aint *state, MPI_Fint *ierror
#define ATTRIBUTE_FUNCTIONS(kind) \
    void mpi_##kind##_dup_fn_(COPY_OF(object)); \
    void mpi_##kind##_null_copy_fn_(COPY_OF(object)); \
    void mpi_##kind##_null_delete_fn_(DELETE_OF(object)); \
    void __mpi_f08_callbacks_MOD_mpi_##kind##_dup_fn(COPY_OF(object)); \
    void __mpi_f08_callbacks_MOD_mpi_##kind##_null_copy_fn(COPY_OF(object)); \
    void __mpi_f08_callbacks_MOD_mpi_##kind##_null_delete_fn(DELETE_OF(object)); \
    void __mpi_f08_callbacks_MOD_mpi_##kind##_dup_fn(COPY_OF(object)) \
    { \
        mpi_##kind##_dup_fn_(object, key, state, value, copied, flag, ierror); \
    } \
    void __mpi_f08_callbacks_MOD_mpi_##kind##_null_copy_fn(COPY_OF(object)) \
    { \
        mpi_##kind##_null_copy_fn_(object, key, state, value, copied, flag, ierror); \
    } \
    void __mpi_f08_callbacks_MOD_mpi_##kind##_null_delete_fn(DELETE_OF(object)) \
    { \
        mpi_##kind##_null_delete_fn_(object, key, value, state, ierror); \
    }

ATTRIBUTE_FUNCTIONS(comm)
ATTRIBUTE_FUNCTIONS(type)
ATTRIBUTE_FUNCTIONS(win)
