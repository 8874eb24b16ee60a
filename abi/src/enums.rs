//! Values that classify objects: results of comparisons, constructors of datatypes, kinds of topology.

int_family! {
    /// Results of comparing groups or communicators (section 7.3.1) and their names.
    COMPARISON_NAMES: i32 {
        MPI_IDENT = 201,
        MPI_CONGRUENT = 202,
        MPI_SIMILAR = 203,
        MPI_UNEQUAL = 204,
    }
}

int_family! {
    /// Kinds of virtual topology (section 8.5) and their names.
    TOPOLOGY_NAMES: i32 {
        MPI_CART = 211,
        MPI_GRAPH = 212,
        MPI_DIST_GRAPH = 213,
    }
}

int_family! {
    /// Ways for `MPI_Comm_split_type` to split (section 7.4.2) and their names.
    SPLIT_TYPE_NAMES: i32 {
        MPI_COMM_TYPE_SHARED = 221,
        MPI_COMM_TYPE_HW_UNGUIDED = 222,
        MPI_COMM_TYPE_HW_GUIDED = 223,
        MPI_COMM_TYPE_RESOURCE_GUIDED = 224,
    }
}

int_family! {
    /// Storage orders and distributions of the array constructors (sections 5.1.3 and 5.1.4), and their names.
    ARRAY_NAMES: i32 {
        MPI_ORDER_C = 0xc,
        MPI_ORDER_FORTRAN = 0xf,
        MPI_DISTRIBUTE_NONE = 16,
        MPI_DISTRIBUTE_BLOCK = 17,
        MPI_DISTRIBUTE_CYCLIC = 18,
        MPI_DISTRIBUTE_DFLT_DARG = 19,
    }
}

int_family! {
    /// Constructors of datatypes as `MPI_Type_get_envelope` tells them (section 5.1.13), and their names.
    COMBINER_NAMES: i32 {
        MPI_COMBINER_NAMED = 101,
        MPI_COMBINER_DUP = 102,
        MPI_COMBINER_CONTIGUOUS = 103,
        MPI_COMBINER_VECTOR = 104,
        MPI_COMBINER_HVECTOR = 105,
        MPI_COMBINER_INDEXED = 106,
        MPI_COMBINER_HINDEXED = 107,
        MPI_COMBINER_INDEXED_BLOCK = 108,
        MPI_COMBINER_HINDEXED_BLOCK = 109,
        MPI_COMBINER_STRUCT = 110,
        MPI_COMBINER_SUBARRAY = 111,
        MPI_COMBINER_DARRAY = 112,
        MPI_COMBINER_F90_REAL = 113,
        MPI_COMBINER_F90_COMPLEX = 114,
        MPI_COMBINER_F90_INTEGER = 115,
        MPI_COMBINER_RESIZED = 116,
        MPI_COMBINER_VALUE_INDEX = 117,
    }
}

int_family! {
    /// Classes of `MPI_Type_match_size` (section 19.1) and their names.
    TYPECLASS_NAMES: i32 {
        MPIX_TYPECLASS_LOGICAL = 191,
        MPI_TYPECLASS_INTEGER = 192,
        MPI_TYPECLASS_REAL = 193,
        MPI_TYPECLASS_COMPLEX = 194,
    }
}
