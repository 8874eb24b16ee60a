/* Communicators. */
#ifndef TERN_CXX_COMM_H
#define TERN_CXX_COMM_H

#include <vector>

namespace MPI {

class Comm_Null {
public:
    Comm_Null(MPI_Comm comm = MPI_COMM_NULL) : handle(comm) {}
    virtual ~Comm_Null() {}
    operator MPI_Comm() const { return handle; }

    MPI_Comm handle;
};

class Comm : public Comm_Null {
public:
    typedef void Errhandler_function(Comm &comm, int *code, ...);
    typedef int Copy_attr_function(const Comm &comm, int keyval, void *state, void *in, void *out, bool &flag);
    typedef int Delete_attr_function(Comm &comm, int keyval, void *value, void *state);

    Comm();
    Comm(const Comm_Null &other);
    Comm(const Comm &other) : Comm_Null(other.handle) {}
    Comm(MPI_Comm comm) : Comm_Null(comm) {}
    Comm &operator=(const Comm &) = default;

    virtual void Send(const void *buffer, int count, const Datatype &type, int dest, int tag) const
    {
        MPI_Send(buffer, count, type.handle, dest, tag, handle);
    }
    virtual void Recv(void *buffer, int count, const Datatype &type, int source, int tag, Status &status) const
    {
        MPI_Recv(buffer, count, type.handle, source, tag, handle, &status.mpi);
    }
    virtual void Recv(void *buffer, int count, const Datatype &type, int source, int tag) const
    {
        MPI_Recv(buffer, count, type.handle, source, tag, handle, MPI_STATUS_IGNORE);
    }
    virtual void Bsend(const void *buffer, int count, const Datatype &type, int dest, int tag) const
    {
        MPI_Bsend(buffer, count, type.handle, dest, tag, handle);
    }
    virtual void Ssend(const void *buffer, int count, const Datatype &type, int dest, int tag) const
    {
        MPI_Ssend(buffer, count, type.handle, dest, tag, handle);
    }
    virtual void Rsend(const void *buffer, int count, const Datatype &type, int dest, int tag) const
    {
        MPI_Rsend(buffer, count, type.handle, dest, tag, handle);
    }
    virtual Request Isend(const void *buffer, int count, const Datatype &type, int dest, int tag) const
    {
        return sending(MPI_Isend, buffer, count, type, dest, tag);
    }
    virtual Request Ibsend(const void *buffer, int count, const Datatype &type, int dest, int tag) const
    {
        return sending(MPI_Ibsend, buffer, count, type, dest, tag);
    }
    virtual Request Issend(const void *buffer, int count, const Datatype &type, int dest, int tag) const
    {
        return sending(MPI_Issend, buffer, count, type, dest, tag);
    }
    virtual Request Irsend(const void *buffer, int count, const Datatype &type, int dest, int tag) const
    {
        return sending(MPI_Irsend, buffer, count, type, dest, tag);
    }
    virtual Request Irecv(void *buffer, int count, const Datatype &type, int source, int tag) const
    {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Irecv(buffer, count, type.handle, source, tag, handle, &request);
        return request;
    }
    virtual bool Iprobe(int source, int tag, Status &status) const
    {
        int flag;
        MPI_Iprobe(source, tag, handle, &flag, &status.mpi);
        return flag != 0;
    }
    virtual bool Iprobe(int source, int tag) const
    {
        int flag;
        MPI_Iprobe(source, tag, handle, &flag, MPI_STATUS_IGNORE);
        return flag != 0;
    }
    virtual void Probe(int source, int tag, Status &status) const { MPI_Probe(source, tag, handle, &status.mpi); }
    virtual void Probe(int source, int tag) const { MPI_Probe(source, tag, handle, MPI_STATUS_IGNORE); }
    virtual Prequest Send_init(const void *buffer, int count, const Datatype &type, int dest, int tag) const
    {
        return sending(MPI_Send_init, buffer, count, type, dest, tag);
    }
    virtual Prequest Bsend_init(const void *buffer, int count, const Datatype &type, int dest, int tag) const
    {
        return sending(MPI_Bsend_init, buffer, count, type, dest, tag);
    }
    virtual Prequest Ssend_init(const void *buffer, int count, const Datatype &type, int dest, int tag) const
    {
        return sending(MPI_Ssend_init, buffer, count, type, dest, tag);
    }
    virtual Prequest Rsend_init(const void *buffer, int count, const Datatype &type, int dest, int tag) const
    {
        return sending(MPI_Rsend_init, buffer, count, type, dest, tag);
    }
    virtual Prequest Recv_init(void *buffer, int count, const Datatype &type, int source, int tag) const
    {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Recv_init(buffer, count, type.handle, source, tag, handle, &request);
        return request;
    }
    virtual void Sendrecv(const void *out, int out_count, const Datatype &out_type, int dest, int out_tag, void *in,
        int in_count, const Datatype &in_type, int source, int in_tag, Status &status) const
    {
        MPI_Sendrecv(out, out_count, out_type.handle, dest, out_tag, in, in_count, in_type.handle, source, in_tag,
            handle, &status.mpi);
    }
    virtual void Sendrecv(const void *out, int out_count, const Datatype &out_type, int dest, int out_tag, void *in,
        int in_count, const Datatype &in_type, int source, int in_tag) const
    {
        MPI_Sendrecv(out, out_count, out_type.handle, dest, out_tag, in, in_count, in_type.handle, source, in_tag,
            handle, MPI_STATUS_IGNORE);
    }
    virtual void Sendrecv_replace(void *buffer, int count, const Datatype &type, int dest, int out_tag, int source,
        int in_tag, Status &status) const
    {
        MPI_Sendrecv_replace(buffer, count, type.handle, dest, out_tag, source, in_tag, handle, &status.mpi);
    }
    virtual void Sendrecv_replace(
        void *buffer, int count, const Datatype &type, int dest, int out_tag, int source, int in_tag) const
    {
        MPI_Sendrecv_replace(buffer, count, type.handle, dest, out_tag, source, in_tag, handle, MPI_STATUS_IGNORE);
    }
    virtual Group Get_group() const
    {
        MPI_Group group;
        MPI_Comm_group(handle, &group);
        return group;
    }
    virtual int Get_size() const
    {
        int size;
        MPI_Comm_size(handle, &size);
        return size;
    }
    virtual int Get_rank() const
    {
        int rank;
        MPI_Comm_rank(handle, &rank);
        return rank;
    }
    virtual Comm &Clone() const = 0;
    virtual void Free() { MPI_Comm_free(&handle); }
    virtual bool Is_inter() const
    {
        int flag;
        MPI_Comm_test_inter(handle, &flag);
        return flag != 0;
    }
    virtual void Barrier() const { MPI_Barrier(handle); }
    virtual void Bcast(void *buffer, int count, const Datatype &type, int root) const
    {
        MPI_Bcast(buffer, count, type.handle, root, handle);
    }
    virtual void Gather(const void *out, int out_count, const Datatype &out_type, void *in, int in_count,
        const Datatype &in_type, int root) const
    {
        MPI_Gather(out, out_count, out_type.handle, in, in_count, in_type.handle, root, handle);
    }
    virtual void Gatherv(const void *out, int out_count, const Datatype &out_type, void *in, const int in_counts[],
        const int in_places[], const Datatype &in_type, int root) const
    {
        MPI_Gatherv(out, out_count, out_type.handle, in, in_counts, in_places, in_type.handle, root, handle);
    }
    virtual void Scatter(const void *out, int out_count, const Datatype &out_type, void *in, int in_count,
        const Datatype &in_type, int root) const
    {
        MPI_Scatter(out, out_count, out_type.handle, in, in_count, in_type.handle, root, handle);
    }
    virtual void Scatterv(const void *out, const int out_counts[], const int out_places[], const Datatype &out_type,
        void *in, int in_count, const Datatype &in_type, int root) const
    {
        MPI_Scatterv(out, out_counts, out_places, out_type.handle, in, in_count, in_type.handle, root, handle);
    }
    virtual void Allgather(
        const void *out, int out_count, const Datatype &out_type, void *in, int in_count, const Datatype &in_type) const
    {
        MPI_Allgather(out, out_count, out_type.handle, in, in_count, in_type.handle, handle);
    }
    virtual void Allgatherv(const void *out, int out_count, const Datatype &out_type, void *in, const int in_counts[],
        const int in_places[], const Datatype &in_type) const
    {
        MPI_Allgatherv(out, out_count, out_type.handle, in, in_counts, in_places, in_type.handle, handle);
    }
    virtual void Alltoall(
        const void *out, int out_count, const Datatype &out_type, void *in, int in_count, const Datatype &in_type) const
    {
        MPI_Alltoall(out, out_count, out_type.handle, in, in_count, in_type.handle, handle);
    }
    virtual void Alltoallv(const void *out, const int out_counts[], const int out_places[], const Datatype &out_type,
        void *in, const int in_counts[], const int in_places[], const Datatype &in_type) const
    {
        MPI_Alltoallv(
            out, out_counts, out_places, out_type.handle, in, in_counts, in_places, in_type.handle, handle);
    }
    virtual void Alltoallw(const void *out, const int out_counts[], const int out_places[], const Datatype out_types[],
        void *in, const int in_counts[], const int in_places[], const Datatype in_types[]) const
    {
        std::vector<MPI_Datatype> outgoing = handles(out_types), incoming = handles(in_types);
        MPI_Alltoallw(
            out, out_counts, out_places, outgoing.data(), in, in_counts, in_places, incoming.data(), handle);
    }
    virtual void Reduce(const void *out, void *in, int count, const Datatype &type, const Op &op, int root) const
    {
        MPI_Reduce(out, in, count, type.handle, op.handle, root, handle);
    }
    virtual void Allreduce(const void *out, void *in, int count, const Datatype &type, const Op &op) const
    {
        MPI_Allreduce(out, in, count, type.handle, op.handle, handle);
    }
    virtual void Reduce_scatter(const void *out, void *in, int counts[], const Datatype &type, const Op &op) const
    {
        MPI_Reduce_scatter(out, in, counts, type.handle, op.handle, handle);
    }
    virtual void Disconnect() { MPI_Comm_disconnect(&handle); }
    virtual void Get_name(char *name, int &length) const { MPI_Comm_get_name(handle, name, &length); }
    virtual void Set_name(const char *name) { MPI_Comm_set_name(handle, name); }
    virtual int Get_topology() const
    {
        int kind;
        MPI_Topo_test(handle, &kind);
        return kind;
    }
    virtual void Abort(int code) { MPI_Abort(handle, code); }
    virtual void Set_errhandler(const Errhandler &handler) { MPI_Comm_set_errhandler(handle, handler); }
    virtual Errhandler Get_errhandler() const
    {
        MPI_Errhandler handler;
        MPI_Comm_get_errhandler(handle, &handler);
        return handler;
    }
    virtual void Set_attr(int keyval, const void *value) const
    {
        MPI_Comm_set_attr(handle, keyval, const_cast<void *>(value));
    }
    virtual bool Get_attr(int keyval, void *value) const
    {
        int flag;
        MPI_Comm_get_attr(handle, keyval, value, &flag);
        return flag != 0;
    }
    virtual void Delete_attr(int keyval) { MPI_Comm_delete_attr(handle, keyval); }

    static Errhandler Create_errhandler(Errhandler_function *function);
    static int Create_keyval(Copy_attr_function *copy, Delete_attr_function *remove, void *state)
    {
        int keyval;
        do_create_keyval(nullptr, nullptr, copy, remove, state, keyval);
        return keyval;
    }
    static int do_create_keyval(MPI_Comm_copy_attr_function *c_copy, MPI_Comm_delete_attr_function *c_delete,
        Copy_attr_function *cxx_copy, Delete_attr_function *cxx_delete, void *state, int &keyval);

protected:
    /* A copy of the communicator, in C. */
    MPI_Comm copy() const
    {
        MPI_Comm comm;
        MPI_Comm_dup(handle, &comm);
        return comm;
    }

private:
    typedef int Sending(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    MPI_Request sending(Sending *call, const void *buffer, int count, const Datatype &type, int dest, int tag) const
    {
        MPI_Request request = MPI_REQUEST_NULL;
        call(buffer, count, type.handle, dest, tag, handle, &request);
        return request;
    }
    /* As many datatypes as there are processes to exchange with. */
    std::vector<MPI_Datatype> handles(const Datatype types[]) const
    {
        int size = 0;
        if (Is_inter()) {
            MPI_Comm_remote_size(handle, &size);
        } else {
            MPI_Comm_size(handle, &size);
        }
        std::vector<MPI_Datatype> found(size);
        for (int i = 0; types != nullptr && i < size; i++) found[i] = types[i].handle;
        return found;
    }
};

class Intercomm : public Comm {
public:
    Intercomm(MPI_Comm comm = MPI_COMM_NULL) : Comm(comm) {}
    virtual Intercomm &Clone() const { return *new Intercomm(copy()); }
    virtual int Get_remote_size() const
    {
        int size;
        MPI_Comm_remote_size(handle, &size);
        return size;
    }
    virtual Group Get_remote_group() const
    {
        MPI_Group group;
        MPI_Comm_remote_group(handle, &group);
        return group;
    }
    virtual Intracomm Merge(bool is_high) const;
    virtual Intercomm Create(const Group &group) const
    {
        MPI_Comm comm;
        MPI_Comm_create(handle, group.handle, &comm);
        return comm;
    }
    virtual Intercomm Split(int color, int key) const
    {
        MPI_Comm comm;
        MPI_Comm_split(handle, color, key, &comm);
        return comm;
    }
};

class Intracomm : public Comm {
public:
    Intracomm(MPI_Comm comm = MPI_COMM_NULL) : Comm(comm) {}
    virtual Intracomm &Clone() const { return *new Intracomm(copy()); }
    virtual void Scan(const void *out, void *in, int count, const Datatype &type, const Op &op) const
    {
        MPI_Scan(out, in, count, type.handle, op.handle, handle);
    }
    virtual void Exscan(const void *out, void *in, int count, const Datatype &type, const Op &op) const
    {
        MPI_Exscan(out, in, count, type.handle, op.handle, handle);
    }
    virtual Intracomm Create(const Group &group) const
    {
        MPI_Comm comm;
        MPI_Comm_create(handle, group.handle, &comm);
        return comm;
    }
    virtual Intracomm Split(int color, int key) const
    {
        MPI_Comm comm;
        MPI_Comm_split(handle, color, key, &comm);
        return comm;
    }
    virtual Intercomm Create_intercomm(int leader, const Comm &peers, int remote_leader, int tag) const
    {
        MPI_Comm comm;
        MPI_Intercomm_create(handle, leader, peers.handle, remote_leader, tag, &comm);
        return comm;
    }
    virtual Cartcomm Create_cart(int dims, const int sizes[], const bool periods[], bool may_reorder) const;
    virtual Graphcomm Create_graph(int nodes, const int index[], const int edges[], bool may_reorder) const;
    virtual Intercomm Accept(const char *port, const Info &info, int root) const
    {
        MPI_Comm comm;
        MPI_Comm_accept(port, info.handle, root, handle, &comm);
        return comm;
    }
    virtual Intercomm Connect(const char *port, const Info &info, int root) const
    {
        MPI_Comm comm;
        MPI_Comm_connect(port, info.handle, root, handle, &comm);
        return comm;
    }
    virtual Intercomm Spawn(const char *command, const char *arguments[], int count, const Info &info, int root) const
    {
        return Spawn(command, arguments, count, info, root, MPI_ERRCODES_IGNORE);
    }
    virtual Intercomm Spawn(
        const char *command, const char *arguments[], int count, const Info &info, int root, int codes[]) const
    {
        MPI_Comm comm;
        MPI_Comm_spawn(command, const_cast<char **>(arguments), count, info.handle, root, handle, &comm, codes);
        return comm;
    }
    virtual Intercomm Spawn_multiple(int count, const char *commands[], const char **arguments[], const int counts[],
        const Info infos[], int root)
    {
        return Spawn_multiple(count, commands, arguments, counts, infos, root, MPI_ERRCODES_IGNORE);
    }
    virtual Intercomm Spawn_multiple(int count, const char *commands[], const char **arguments[], const int counts[],
        const Info infos[], int root, int codes[])
    {
        MPI_Comm comm;
        std::vector<MPI_Info> found(Get_rank() == root ? count : 0);
        for (size_t i = 0; i < found.size(); i++) found[i] = infos[i].handle;
        MPI_Comm_spawn_multiple(count, const_cast<char **>(commands), const_cast<char ***>(arguments), counts,
            found.data(), root, handle, &comm, codes);
        return comm;
    }
};

inline Intracomm Intercomm::Merge(bool is_high) const
{
    MPI_Comm comm;
    MPI_Intercomm_merge(handle, is_high, &comm);
    return comm;
}

/* Truth values as C has them. */
inline std::vector<int> numbers(const bool flags[], int count) { return std::vector<int>(flags, flags + count); }

class Cartcomm : public Intracomm {
public:
    Cartcomm(MPI_Comm comm = MPI_COMM_NULL) : Intracomm(comm) {}
    virtual Cartcomm &Clone() const { return *new Cartcomm(copy()); }
    virtual int Get_dim() const
    {
        int dims;
        MPI_Cartdim_get(handle, &dims);
        return dims;
    }
    virtual void Get_topo(int dims_max, int sizes[], bool periods[], int place[]) const
    {
        std::vector<int> found(dims_max);
        MPI_Cart_get(handle, dims_max, sizes, found.data(), place);
        for (int i = 0; i < dims_max; i++) periods[i] = found[i] != 0;
    }
    virtual int Get_cart_rank(const int place[]) const
    {
        int rank;
        MPI_Cart_rank(handle, place, &rank);
        return rank;
    }
    virtual void Get_coords(int rank, int dims_max, int place[]) const
    {
        MPI_Cart_coords(handle, rank, dims_max, place);
    }
    virtual void Shift(int direction, int distance, int &source, int &dest) const
    {
        MPI_Cart_shift(handle, direction, distance, &source, &dest);
    }
    virtual Cartcomm Sub(const bool remain[]) const
    {
        MPI_Comm comm;
        MPI_Cart_sub(handle, numbers(remain, Get_dim()).data(), &comm);
        return comm;
    }
    virtual int Map(int dims, const int sizes[], const bool periods[]) const
    {
        int rank;
        MPI_Cart_map(handle, dims, sizes, numbers(periods, dims).data(), &rank);
        return rank;
    }
};

class Graphcomm : public Intracomm {
public:
    Graphcomm(MPI_Comm comm = MPI_COMM_NULL) : Intracomm(comm) {}
    virtual Graphcomm &Clone() const { return *new Graphcomm(copy()); }
    virtual void Get_dims(int nodes[], int edges[]) const { MPI_Graphdims_get(handle, nodes, edges); }
    virtual void Get_topo(int index_max, int edges_max, int index[], int edges[]) const
    {
        MPI_Graph_get(handle, index_max, edges_max, index, edges);
    }
    virtual int Get_neighbors_count(int rank) const
    {
        int count;
        MPI_Graph_neighbors_count(handle, rank, &count);
        return count;
    }
    virtual void Get_neighbors(int rank, int count_max, int ranks[]) const
    {
        MPI_Graph_neighbors(handle, rank, count_max, ranks);
    }
    virtual int Map(int nodes, const int index[], const int edges[]) const
    {
        int rank;
        MPI_Graph_map(handle, nodes, index, edges, &rank);
        return rank;
    }
};

inline Cartcomm Intracomm::Create_cart(int dims, const int sizes[], const bool periods[], bool may_reorder) const
{
    MPI_Comm comm;
    MPI_Cart_create(handle, dims, sizes, numbers(periods, dims).data(), may_reorder, &comm);
    return comm;
}

inline Graphcomm Intracomm::Create_graph(int nodes, const int index[], const int edges[], bool may_reorder) const
{
    MPI_Comm comm;
    MPI_Graph_create(handle, nodes, index, edges, may_reorder, &comm);
    return comm;
}

inline void Datatype::Pack(const void *in, int count, void *out, int size, int &position, const Comm &comm) const
{
    MPI_Pack(in, count, handle, out, size, &position, comm.handle);
}

inline void Datatype::Unpack(const void *in, int size, void *out, int count, int &position, const Comm &comm) const
{
    MPI_Unpack(in, size, &position, out, count, handle, comm.handle);
}

inline int Datatype::Pack_size(int count, const Comm &comm) const
{
    int size;
    MPI_Pack_size(count, handle, comm.handle, &size);
    return size;
}

} // namespace MPI

#endif
