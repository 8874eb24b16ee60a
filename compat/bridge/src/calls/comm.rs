//! Groups, communicators, topologies, attributes, errors, info objects, the environment and processes (chapters 7 to 11, 20).

/// Hands the list to the macro `$then`.
#[macro_export]
macro_rules! comm_calls {
    ($then:ident) => {
        $then! {
            fn MPI_Abi_get_fortran_booleans(
                logical_size: Int, logical_true: Pointer, logical_false: Pointer, is_set: Pointer
            );
            fn MPI_Abi_get_fortran_info(info: HandleOut<Info>);
            fn MPI_Abi_get_info(info: HandleOut<Info>);
            fn MPI_Abi_get_version(abi_major: Pointer, abi_minor: Pointer) via abi_get_version;
            fn MPI_Abi_set_fortran_booleans(logical_size: Int, logical_true: Pointer, logical_false: Pointer);
            fn MPI_Abi_set_fortran_info(info: In<Info>);
            fn MPI_Abort(comm: In<Comm>, errorcode: Int);
            fn MPI_Add_error_class(errorclass: ErrorCodeOut);
            fn MPI_Add_error_code(errorclass: ErrorCode, errorcode: ErrorCodeOut);
            fn MPI_Add_error_string(errorcode: ErrorCode, string: Pointer);
            fn MPI_Attr_delete(comm: In<Comm>, keyval: Keyval);
            fn MPI_Attr_get(comm: In<Comm>, keyval: Int, attribute_val: Pointer, flag: Pointer) via attr_get;
            fn MPI_Attr_put(comm: In<Comm>, keyval: Keyval, attribute_val: Pointer);
            fn MPI_Cart_coords(comm: In<Comm>, rank: Rank, maxdims: Int, coords: Pointer);
            fn MPI_Cart_create(
                comm_old: In<Comm>, ndims: Int, dims: Pointer, periods: Pointer, reorder: Int,
                comm_cart: HandleOut<Comm>
            );
            fn MPI_Cart_get(comm: In<Comm>, maxdims: Int, dims: Pointer, periods: Pointer, coords: Pointer);
            fn MPI_Cart_map(comm: In<Comm>, ndims: Int, dims: Pointer, periods: Pointer, newrank: RankOut);
            fn MPI_Cart_rank(comm: In<Comm>, coords: Pointer, rank: RankOut);
            fn MPI_Cart_shift(comm: In<Comm>, direction: Int, disp: Int, rank_source: RankOut, rank_dest: RankOut);
            fn MPI_Cart_sub(comm: In<Comm>, remain_dims: Pointer, newcomm: HandleOut<Comm>);
            fn MPI_Cartdim_get(comm: In<Comm>, ndims: Pointer);
            fn MPI_Close_port(port_name: Pointer);
            fn MPI_Comm_accept(
                port_name: Pointer, info: In<Info>, root: Rank, comm: In<Comm>, newcomm: HandleOut<Comm>
            );
            fn MPI_Comm_call_errhandler(comm: In<Comm>, errorcode: ErrorCode);
            fn MPI_Comm_compare(comm1: In<Comm>, comm2: In<Comm>, result: ComparisonOut);
            fn MPI_Comm_connect(
                port_name: Pointer, info: In<Info>, root: Rank, comm: In<Comm>, newcomm: HandleOut<Comm>
            );
            fn MPI_Comm_create(comm: In<Comm>, group: In<Group>, newcomm: HandleOut<Comm>);
            fn MPI_Comm_create_errhandler(
                comm_errhandler_fn: Pointer, errhandler: Pointer
            ) via comm_create_errhandler;
            fn MPI_Comm_create_from_group(
                group: In<Group>, stringtag: Pointer, info: In<Info>, errhandler: In<Errhandler>,
                newcomm: HandleOut<Comm>
            );
            fn MPI_Comm_create_group(comm: In<Comm>, group: In<Group>, tag: Tag, newcomm: HandleOut<Comm>);
            fn MPI_Comm_create_keyval(
                comm_copy_attr_fn: Pointer, comm_delete_attr_fn: Pointer, comm_keyval: Pointer,
                extra_state: Pointer
            ) via comm_create_keyval;
            fn MPI_Comm_delete_attr(comm: In<Comm>, comm_keyval: Keyval);
            fn MPI_Comm_disconnect(comm: HandleInOut<Comm>);
            fn MPI_Comm_dup(comm: In<Comm>, newcomm: HandleOut<Comm>);
            fn MPI_Comm_dup_with_info(comm: In<Comm>, info: In<Info>, newcomm: HandleOut<Comm>);
            fn MPI_Comm_free(comm: HandleInOut<Comm>);
            fn MPI_Comm_free_keyval(comm_keyval: KeyvalInOut);
            fn MPI_Comm_get_attr(
                comm: In<Comm>, comm_keyval: Int, attribute_val: Pointer, flag: Pointer
            ) via comm_get_attr;
            fn MPI_Comm_get_errhandler(comm: In<Comm>, errhandler: HandleOut<Errhandler>);
            fn MPI_Comm_get_info(comm: In<Comm>, info_used: HandleOut<Info>);
            fn MPI_Comm_get_name(comm: In<Comm>, comm_name: ObjectName, resultlen: ObjectNameLength);
            fn MPI_Comm_get_parent(parent: HandleOut<Comm>);
            fn MPI_Comm_group(comm: In<Comm>, group: HandleOut<Group>);
            fn MPI_Comm_idup(comm: In<Comm>, newcomm: HandleOut<Comm>, request: HandleOut<Request>);
            fn MPI_Comm_idup_with_info(
                comm: In<Comm>, info: In<Info>, newcomm: HandleOut<Comm>, request: HandleOut<Request>
            );
            fn MPI_Comm_join(fd: Int, intercomm: HandleOut<Comm>);
            fn MPI_Comm_rank(comm: In<Comm>, rank: RankOut);
            fn MPI_Comm_remote_group(comm: In<Comm>, group: HandleOut<Group>);
            fn MPI_Comm_remote_size(comm: In<Comm>, size: Pointer);
            fn MPI_Comm_set_attr(comm: In<Comm>, comm_keyval: Keyval, attribute_val: Pointer);
            fn MPI_Comm_set_errhandler(comm: In<Comm>, errhandler: In<Errhandler>);
            fn MPI_Comm_set_info(comm: In<Comm>, info: In<Info>);
            fn MPI_Comm_set_name(comm: In<Comm>, comm_name: Pointer);
            fn MPI_Comm_size(comm: In<Comm>, size: Pointer);
            fn MPI_Comm_spawn(
                command: Pointer, argv: Pointer, maxprocs: Int, info: In<Info>, root: Int, comm: In<Comm>,
                intercomm: Pointer, array_of_errcodes: Pointer
            ) via comm_spawn;
            fn MPI_Comm_spawn_multiple(
                count: Int, array_of_commands: Pointer, array_of_argv: Pointer, array_of_maxprocs: Pointer,
                array_of_info: Pointer, root: Int, comm: In<Comm>, intercomm: Pointer,
                array_of_errcodes: Pointer
            ) via comm_spawn_multiple;
            fn MPI_Comm_split(comm: In<Comm>, color: Int, key: Int, newcomm: HandleOut<Comm>);
            fn MPI_Comm_split_type(
                comm: In<Comm>, split_type: SplitType, key: Int, info: In<Info>, newcomm: HandleOut<Comm>
            ) via comm_split_type;
            fn MPI_Comm_test_inter(comm: In<Comm>, flag: Pointer);
            fn MPI_Dims_create(nnodes: Int, ndims: Int, dims: Pointer);
            fn MPI_Dist_graph_create(
                comm_old: In<Comm>, n: Int, sources: Pointer, degrees: Pointer, destinations: Pointer,
                weights: GraphWeights, info: In<Info>, reorder: Int, comm_dist_graph: HandleOut<Comm>
            );
            fn MPI_Dist_graph_create_adjacent(
                comm_old: In<Comm>, indegree: Int, sources: Pointer, sourceweights: GraphWeights, outdegree: Int,
                destinations: Pointer, destweights: GraphWeights, info: In<Info>, reorder: Int,
                comm_dist_graph: HandleOut<Comm>
            );
            fn MPI_Dist_graph_neighbors(
                comm: In<Comm>, maxindegree: Int, sources: Pointer, sourceweights: GraphWeights, maxoutdegree: Int,
                destinations: Pointer, destweights: GraphWeights
            );
            fn MPI_Dist_graph_neighbors_count(
                comm: In<Comm>, indegree: Pointer, outdegree: Pointer, weighted: Pointer
            );
            fn MPI_Errhandler_free(errhandler: HandleInOut<Errhandler>);
            fn MPI_Error_class(errorcode: ErrorCode, errorclass: ErrorCodeOut);
            fn MPI_Error_string(errorcode: ErrorCode, string: ErrorText, resultlen: ErrorTextLength);
            fn MPI_Finalize();
            fn MPI_Finalized(flag: Pointer);
            fn MPI_Get_hw_resource_info(hw_info: HandleOut<Info>);
            fn MPI_Get_library_version(version: Pointer, resultlen: Pointer) via get_library_version;
            fn MPI_Get_processor_name(name: ProcessorName, resultlen: ProcessorNameLength);
            fn MPI_Get_version(version: Pointer, subversion: Pointer);
            fn MPI_Graph_create(
                comm_old: In<Comm>, nnodes: Int, indx: Pointer, edges: Pointer, reorder: Int,
                comm_graph: HandleOut<Comm>
            );
            fn MPI_Graph_get(comm: In<Comm>, maxindex: Int, maxedges: Int, indx: Pointer, edges: Pointer);
            fn MPI_Graph_map(comm: In<Comm>, nnodes: Int, indx: Pointer, edges: Pointer, newrank: RankOut);
            fn MPI_Graph_neighbors(comm: In<Comm>, rank: Rank, maxneighbors: Int, neighbors: Pointer);
            fn MPI_Graph_neighbors_count(comm: In<Comm>, rank: Rank, nneighbors: Pointer);
            fn MPI_Graphdims_get(comm: In<Comm>, nnodes: Pointer, nedges: Pointer);
            fn MPI_Group_compare(group1: In<Group>, group2: In<Group>, result: ComparisonOut);
            fn MPI_Group_difference(group1: In<Group>, group2: In<Group>, newgroup: HandleOut<Group>);
            fn MPI_Group_excl(group: In<Group>, n: Int, ranks: Pointer, newgroup: HandleOut<Group>);
            fn MPI_Group_free(group: HandleInOut<Group>);
            fn MPI_Group_from_session_pset(session: In<Session>, pset_name: Pointer, newgroup: HandleOut<Group>);
            fn MPI_Group_incl(group: In<Group>, n: Int, ranks: Pointer, newgroup: HandleOut<Group>);
            fn MPI_Group_intersection(group1: In<Group>, group2: In<Group>, newgroup: HandleOut<Group>);
            fn MPI_Group_range_excl(group: In<Group>, n: Int, ranges: Pointer, newgroup: HandleOut<Group>);
            fn MPI_Group_range_incl(group: In<Group>, n: Int, ranges: Pointer, newgroup: HandleOut<Group>);
            fn MPI_Group_rank(group: In<Group>, rank: RankOut);
            fn MPI_Group_size(group: In<Group>, size: Pointer);
            fn MPI_Group_translate_ranks(
                group1: In<Group>, n: Int, ranks1: RanksIn[n], group2: In<Group>, ranks2: RanksOut[n]
            );
            fn MPI_Group_union(group1: In<Group>, group2: In<Group>, newgroup: HandleOut<Group>);
            fn MPI_Info_create(info: HandleOut<Info>);
            fn MPI_Info_create_env(argc: Int, argv: Pointer, info: HandleOut<Info>);
            fn MPI_Info_delete(info: In<Info>, key: Pointer);
            fn MPI_Info_dup(info: In<Info>, newinfo: HandleOut<Info>);
            fn MPI_Info_free(info: HandleInOut<Info>);
            fn MPI_Info_get(info: In<Info>, key: Pointer, valuelen: Int, value: Pointer, flag: Pointer);
            fn MPI_Info_get_nkeys(info: In<Info>, nkeys: Pointer);
            fn MPI_Info_get_nthkey(info: In<Info>, n: Int, key: InfoKey);
            fn MPI_Info_get_string(info: In<Info>, key: Pointer, buflen: Pointer, value: Pointer, flag: Pointer);
            fn MPI_Info_get_valuelen(info: In<Info>, key: Pointer, valuelen: Pointer, flag: Pointer);
            fn MPI_Info_set(info: In<Info>, key: Pointer, value: Pointer);
            fn MPI_Init(argc: Pointer, argv: Pointer) via init;
            fn MPI_Init_thread(argc: Pointer, argv: Pointer, required: Int, provided: Pointer) via init_thread;
            fn MPI_Initialized(flag: Pointer);
            fn MPI_Intercomm_create(
                local_comm: In<Comm>, local_leader: Rank, peer_comm: In<Comm>, remote_leader: Rank, tag: Tag,
                newintercomm: HandleOut<Comm>
            );
            fn MPI_Intercomm_create_from_groups(
                local_group: In<Group>, local_leader: Rank, remote_group: In<Group>, remote_leader: Rank,
                stringtag: Pointer, info: In<Info>, errhandler: In<Errhandler>, newintercomm: HandleOut<Comm>
            );
            fn MPI_Intercomm_merge(intercomm: In<Comm>, high: Int, newintracomm: HandleOut<Comm>);
            fn MPI_Is_thread_main(flag: Pointer);
            fn MPI_Keyval_create(
                copy_fn: Pointer, delete_fn: Pointer, keyval: Pointer, extra_state: Pointer
            ) via keyval_create;
            fn MPI_Keyval_free(keyval: KeyvalInOut);
            fn MPI_Lookup_name(service_name: Pointer, info: In<Info>, port_name: PortName);
            fn MPI_Open_port(info: In<Info>, port_name: PortName);
            fn MPI_Pcontrol(level: Int);
            fn MPI_Pready(partition: Int, request: In<Request>);
            fn MPI_Pready_list(length: Int, array_of_partitions: Pointer, request: In<Request>);
            fn MPI_Pready_range(partition_low: Int, partition_high: Int, request: In<Request>);
            fn MPI_Publish_name(service_name: Pointer, info: In<Info>, port_name: Pointer);
            fn MPI_Query_thread(provided: ThreadLevelOut);
            fn MPI_Remove_error_class(errorclass: ErrorCode);
            fn MPI_Remove_error_code(errorcode: ErrorCode);
            fn MPI_Remove_error_string(errorcode: ErrorCode);
            fn MPI_Session_call_errhandler(session: In<Session>, errorcode: ErrorCode);
            fn MPI_Session_create_errhandler(
                session_errhandler_fn: Pointer, errhandler: Pointer
            ) via session_create_errhandler;
            fn MPI_Session_finalize(session: HandleInOut<Session>);
            fn MPI_Session_get_errhandler(session: In<Session>, errhandler: HandleOut<Errhandler>);
            fn MPI_Session_get_info(session: In<Session>, info_used: HandleOut<Info>);
            fn MPI_Session_get_nth_pset(
                session: In<Session>, info: In<Info>, n: Int, pset_len: Pointer, pset_name: Pointer
            );
            fn MPI_Session_get_num_psets(session: In<Session>, info: In<Info>, npset_names: Pointer);
            fn MPI_Session_get_pset_info(session: In<Session>, pset_name: Pointer, info: HandleOut<Info>);
            fn MPI_Session_init(info: In<Info>, errhandler: In<Errhandler>, session: Pointer) via session_init;
            fn MPI_Session_set_errhandler(session: In<Session>, errhandler: In<Errhandler>);
            fn MPI_Topo_test(comm: In<Comm>, status: TopologyTypeOut);
            fn MPI_Type_create_keyval(
                type_copy_attr_fn: Pointer, type_delete_attr_fn: Pointer, type_keyval: Pointer,
                extra_state: Pointer
            ) via type_create_keyval;
            fn MPI_Unpublish_name(service_name: Pointer, info: In<Info>, port_name: Pointer);
        }
    };
}
