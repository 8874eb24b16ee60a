//! Functions of MPI-1 that MPI-3.0 removed. Both other ABIs still have them, and old programs call them.

/// Hands the list to the macro `$then`.
#[macro_export]
macro_rules! removed_calls {
    ($then:ident) => {
        $then! {
            fn MPI_Address(location: Pointer, address: Pointer) via address;
            fn MPI_Errhandler_create(function: Pointer, errhandler: Pointer) via comm_create_errhandler;
            fn MPI_Errhandler_get(comm: In<Comm>, errhandler: Pointer) via errhandler_get;
            fn MPI_Errhandler_set(comm: In<Comm>, errhandler: In<Errhandler>) via errhandler_set;
            fn MPI_Type_extent(datatype: In<Datatype>, extent: Pointer) via type_extent;
            fn MPI_Type_hindexed(
                count: Int, blocklengths: Pointer, displacements: Pointer, oldtype: In<Datatype>, newtype: Pointer
            ) via type_hindexed;
            fn MPI_Type_hvector(
                count: Int, blocklength: Int, stride: Aint, oldtype: In<Datatype>, newtype: Pointer
            ) via type_hvector;
            fn MPI_Type_lb(datatype: In<Datatype>, displacement: Pointer) via type_lb;
            fn MPI_Type_struct(
                count: Int, blocklengths: Pointer, displacements: Pointer, types: Pointer, newtype: Pointer
            ) via type_struct;
            fn MPI_Type_ub(datatype: In<Datatype>, displacement: Pointer) via type_ub;
        }
    };
}
