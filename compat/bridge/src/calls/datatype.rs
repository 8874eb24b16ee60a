//! Datatypes and operations (chapters 5 and 6.9).

/// Hands the list to the macro `$then`.
#[macro_export]
macro_rules! datatype_calls {
    ($then:ident) => {
        $then! {
            fn MPI_Get_address(location: Pointer, address: Pointer);
            fn MPI_Get_count(status: StatusIn, datatype: In<Datatype>, count: Pointer);
            fn MPI_Get_count_c(status: StatusIn, datatype: In<Datatype>, count: Pointer);
            fn MPI_Get_elements(status: StatusIn, datatype: In<Datatype>, count: Pointer);
            fn MPI_Get_elements_c(status: StatusIn, datatype: In<Datatype>, count: Pointer);
            fn MPI_Get_elements_x(status: StatusIn, datatype: In<Datatype>, count: Pointer);
            fn MPI_Op_commutative(op: In<Op>, commute: Pointer);
            fn MPI_Op_create(user_fn: Pointer, commute: Int, op: Pointer) via op_create;
            fn MPI_Op_create_c(user_fn: Pointer, commute: Int, op: Pointer) via op_create_large;
            fn MPI_Op_free(op: HandleInOut<Op>);
            fn MPI_Pack(
                inbuf: Place, incount: Int, datatype: In<Datatype>, outbuf: Place, outsize: Int,
                position: Pointer, comm: In<Comm>
            );
            fn MPI_Pack_c(
                inbuf: Place, incount: Count, datatype: In<Datatype>, outbuf: Place, outsize: Count,
                position: Pointer, comm: In<Comm>
            );
            fn MPI_Pack_external(
                datarep: Pointer, inbuf: Place, incount: Int, datatype: In<Datatype>, outbuf: Place,
                outsize: Aint, position: Pointer
            );
            fn MPI_Pack_external_c(
                datarep: Pointer, inbuf: Place, incount: Count, datatype: In<Datatype>, outbuf: Place,
                outsize: Count, position: Pointer
            );
            fn MPI_Pack_external_size(datarep: Pointer, incount: Int, datatype: In<Datatype>, size: Pointer);
            fn MPI_Pack_external_size_c(datarep: Pointer, incount: Count, datatype: In<Datatype>, size: Pointer);
            fn MPI_Pack_size(incount: Int, datatype: In<Datatype>, comm: In<Comm>, size: Pointer);
            fn MPI_Pack_size_c(incount: Count, datatype: In<Datatype>, comm: In<Comm>, size: Pointer);
            fn MPI_Status_set_cancelled(status: StatusInOut, flag: Int);
            fn MPI_Status_set_elements(status: StatusInOut, datatype: In<Datatype>, count: Int);
            fn MPI_Status_set_elements_c(status: StatusInOut, datatype: In<Datatype>, count: Count);
            fn MPI_Status_set_elements_x(status: StatusInOut, datatype: In<Datatype>, count: Count);
            fn MPI_Status_set_error(status: Pointer, error: Int) via status_set_error;
            fn MPI_Status_set_source(status: StatusInOut, source: Rank);
            fn MPI_Status_set_tag(status: StatusInOut, tag: Tag);
            fn MPI_Type_commit(datatype: HandleInOut<Datatype>);
            fn MPI_Type_contiguous(count: Int, oldtype: In<Datatype>, newtype: HandleOut<Datatype>);
            fn MPI_Type_contiguous_c(count: Count, oldtype: In<Datatype>, newtype: HandleOut<Datatype>);
            fn MPI_Type_create_darray(
                size: Int, rank: Rank, ndims: Int, array_of_gsizes: Pointer,
                array_of_distribs: Distributions[ndims], array_of_dargs: DistributionArguments[ndims],
                array_of_psizes: Pointer, order: Order, oldtype: In<Datatype>, newtype: HandleOut<Datatype>
            );
            fn MPI_Type_create_darray_c(
                size: Int, rank: Rank, ndims: Int, array_of_gsizes: Pointer,
                array_of_distribs: Distributions[ndims], array_of_dargs: DistributionArguments[ndims],
                array_of_psizes: Pointer, order: Order, oldtype: In<Datatype>, newtype: HandleOut<Datatype>
            );
            fn MPI_Type_create_f90_complex(p: Int, r: Int, newtype: HandleOut<Datatype>);
            fn MPI_Type_create_f90_integer(r: Int, newtype: HandleOut<Datatype>);
            fn MPI_Type_create_f90_real(p: Int, r: Int, newtype: HandleOut<Datatype>);
            fn MPI_Type_create_hindexed(
                count: Int, array_of_blocklengths: Pointer, array_of_displacements: Pointer,
                oldtype: In<Datatype>, newtype: HandleOut<Datatype>
            );
            fn MPI_Type_create_hindexed_block(
                count: Int, blocklength: Int, array_of_displacements: Pointer, oldtype: In<Datatype>,
                newtype: HandleOut<Datatype>
            );
            fn MPI_Type_create_hindexed_block_c(
                count: Count, blocklength: Count, array_of_displacements: Pointer, oldtype: In<Datatype>,
                newtype: HandleOut<Datatype>
            );
            fn MPI_Type_create_hindexed_c(
                count: Count, array_of_blocklengths: Pointer, array_of_displacements: Pointer,
                oldtype: In<Datatype>, newtype: HandleOut<Datatype>
            );
            fn MPI_Type_create_hvector(
                count: Int, blocklength: Int, stride: Aint, oldtype: In<Datatype>, newtype: HandleOut<Datatype>
            );
            fn MPI_Type_create_hvector_c(
                count: Count, blocklength: Count, stride: Count, oldtype: In<Datatype>, newtype: HandleOut<Datatype>
            );
            fn MPI_Type_create_indexed_block(
                count: Int, blocklength: Int, array_of_displacements: Pointer, oldtype: In<Datatype>,
                newtype: HandleOut<Datatype>
            );
            fn MPI_Type_create_indexed_block_c(
                count: Count, blocklength: Count, array_of_displacements: Pointer, oldtype: In<Datatype>,
                newtype: HandleOut<Datatype>
            );
            fn MPI_Type_create_resized(oldtype: In<Datatype>, lb: Aint, extent: Aint, newtype: HandleOut<Datatype>);
            fn MPI_Type_create_resized_c(oldtype: In<Datatype>, lb: Count, extent: Count, newtype: HandleOut<Datatype>);
            fn MPI_Type_create_struct(
                count: Int, array_of_blocklengths: Pointer, array_of_displacements: Pointer,
                array_of_types: HandleList<Datatype>[count], newtype: HandleOut<Datatype>
            );
            fn MPI_Type_create_struct_c(
                count: Count, array_of_blocklengths: Pointer, array_of_displacements: Pointer,
                array_of_types: HandleList<Datatype>[count], newtype: HandleOut<Datatype>
            );
            fn MPI_Type_create_subarray(
                ndims: Int, array_of_sizes: Pointer, array_of_subsizes: Pointer, array_of_starts: Pointer,
                order: Order, oldtype: In<Datatype>, newtype: HandleOut<Datatype>
            );
            fn MPI_Type_create_subarray_c(
                ndims: Int, array_of_sizes: Pointer, array_of_subsizes: Pointer, array_of_starts: Pointer,
                order: Order, oldtype: In<Datatype>, newtype: HandleOut<Datatype>
            );
            fn MPI_Type_delete_attr(datatype: In<Datatype>, type_keyval: Keyval);
            fn MPI_Type_dup(oldtype: In<Datatype>, newtype: HandleOut<Datatype>);
            fn MPI_Type_free(datatype: HandleInOut<Datatype>);
            fn MPI_Type_free_keyval(type_keyval: KeyvalInOut);
            fn MPI_Type_get_attr(
                datatype: In<Datatype>, type_keyval: Keyval, attribute_val: Pointer, flag: Pointer
            );
            fn MPI_Type_get_contents(
                datatype: In<Datatype>, max_integers: Int, max_addresses: Int, max_datatypes: Int,
                array_of_integers: Pointer, array_of_addresses: Pointer, array_of_datatypes: Pointer
            ) via type_get_contents;
            fn MPI_Type_get_contents_c(
                datatype: In<Datatype>, max_integers: Count, max_addresses: Count, max_large_counts: Count,
                max_datatypes: Count, array_of_integers: Pointer, array_of_addresses: Pointer,
                array_of_large_counts: Pointer, array_of_datatypes: Pointer
            ) via type_get_contents_large;
            fn MPI_Type_get_envelope(
                datatype: In<Datatype>, num_integers: Pointer, num_addresses: Pointer, num_datatypes: Pointer,
                combiner: CombinerOut
            );
            fn MPI_Type_get_envelope_c(
                datatype: In<Datatype>, num_integers: Pointer, num_addresses: Pointer,
                num_large_counts: Pointer, num_datatypes: Pointer, combiner: CombinerOut
            );
            fn MPI_Type_get_extent(datatype: In<Datatype>, lb: Pointer, extent: Pointer);
            fn MPI_Type_get_extent_c(datatype: In<Datatype>, lb: Pointer, extent: Pointer);
            fn MPI_Type_get_extent_x(datatype: In<Datatype>, lb: Pointer, extent: Pointer);
            fn MPI_Type_get_name(datatype: In<Datatype>, type_name: ObjectName, resultlen: ObjectNameLength);
            fn MPI_Type_get_true_extent(datatype: In<Datatype>, true_lb: Pointer, true_extent: Pointer);
            fn MPI_Type_get_true_extent_c(datatype: In<Datatype>, true_lb: Pointer, true_extent: Pointer);
            fn MPI_Type_get_true_extent_x(datatype: In<Datatype>, true_lb: Pointer, true_extent: Pointer);
            fn MPI_Type_get_value_index(
                value_type: In<Datatype>, index_type: In<Datatype>, pair_type: HandleOut<Datatype>
            );
            fn MPI_Type_indexed(
                count: Int, array_of_blocklengths: Pointer, array_of_displacements: Pointer,
                oldtype: In<Datatype>, newtype: HandleOut<Datatype>
            );
            fn MPI_Type_indexed_c(
                count: Count, array_of_blocklengths: Pointer, array_of_displacements: Pointer,
                oldtype: In<Datatype>, newtype: HandleOut<Datatype>
            );
            fn MPI_Type_match_size(typeclass: TypeClass, size: Int, datatype: HandleOut<Datatype>);
            fn MPI_Type_set_attr(datatype: In<Datatype>, type_keyval: Keyval, attribute_val: Pointer);
            fn MPI_Type_set_name(datatype: In<Datatype>, type_name: Pointer);
            fn MPI_Type_size(datatype: In<Datatype>, size: Pointer);
            fn MPI_Type_size_c(datatype: In<Datatype>, size: Pointer);
            fn MPI_Type_size_x(datatype: In<Datatype>, size: Pointer);
            fn MPI_Type_vector(
                count: Int, blocklength: Int, stride: Int, oldtype: In<Datatype>, newtype: HandleOut<Datatype>
            );
            fn MPI_Type_vector_c(
                count: Count, blocklength: Count, stride: Count, oldtype: In<Datatype>, newtype: HandleOut<Datatype>
            );
            fn MPI_Unpack(
                inbuf: Place, insize: Int, position: Pointer, outbuf: Place, outcount: Int,
                datatype: In<Datatype>, comm: In<Comm>
            );
            fn MPI_Unpack_c(
                inbuf: Place, insize: Count, position: Pointer, outbuf: Place, outcount: Count,
                datatype: In<Datatype>, comm: In<Comm>
            );
            fn MPI_Unpack_external(
                datarep: Pointer, inbuf: Place, insize: Aint, position: Pointer, outbuf: Place,
                outcount: Int, datatype: In<Datatype>
            );
            fn MPI_Unpack_external_c(
                datarep: Pointer, inbuf: Place, insize: Count, position: Pointer, outbuf: Place,
                outcount: Count, datatype: In<Datatype>
            );
        }
    };
}
