/* All classes but communicators. */
#ifndef TERN_CXX_OBJECTS_H
#define TERN_CXX_OBJECTS_H

#include <vector>

namespace MPI {

/* What MPI::ERRORS_THROW_EXCEPTIONS throws. A program that catches it has its own copy of these functions. */
class Exception {
public:
    Exception(int code) : error_code(code), error_string(new char[MPI_MAX_ERROR_STRING]), error_class(-1)
    {
        int length;
        PMPI_Error_class(code, &error_class);
        PMPI_Error_string(code, error_string, &length);
    }
    Exception(const Exception &other)
        : error_code(other.error_code), error_string(new char[MPI_MAX_ERROR_STRING]), error_class(other.error_class)
    {
        for (int i = 0; i < MPI_MAX_ERROR_STRING; i++) error_string[i] = other.error_string[i];
    }
    Exception &operator=(const Exception &) = delete;
    ~Exception() { delete[] error_string; }
    int Get_error_code() const { return error_code; }
    int Get_error_class() const { return error_class; }
    const char *Get_error_string() const { return error_string; }

protected:
    int error_code;
    char *error_string;
    int error_class;
};

class Errhandler {
public:
    Errhandler(MPI_Errhandler handler = MPI_ERRHANDLER_NULL) : handle(handler) {}
    virtual ~Errhandler() {}
    virtual void Free() { MPI_Errhandler_free(&handle); }
    operator MPI_Errhandler() const { return handle; }

    MPI_Errhandler handle;
};

class Status {
public:
    Status() {}
    Status(const MPI_Status &status) : mpi(status) {}
    virtual ~Status() {}
    virtual int Get_count(const Datatype &datatype) const;
    virtual bool Is_cancelled() const
    {
        int flag;
        MPI_Test_cancelled(&mpi, &flag);
        return flag != 0;
    }
    virtual int Get_elements(const Datatype &datatype) const;
    virtual int Get_source() const { return mpi.MPI_SOURCE; }
    virtual void Set_source(int source) { mpi.MPI_SOURCE = source; }
    virtual int Get_tag() const { return mpi.MPI_TAG; }
    virtual void Set_tag(int tag) { mpi.MPI_TAG = tag; }
    virtual int Get_error() const { return mpi.MPI_ERROR; }
    virtual void Set_error(int error) { mpi.MPI_ERROR = error; }
    virtual void Set_elements(const Datatype &datatype, int count);
    virtual void Set_cancelled(bool flag) { MPI_Status_set_cancelled(&mpi, flag); }

    MPI_Status mpi;
};

class Request {
public:
    Request(MPI_Request request = MPI_REQUEST_NULL) : handle(request) {}
    virtual ~Request() {}
    virtual void Wait(Status &status) { MPI_Wait(&handle, &status.mpi); }
    virtual void Wait() { MPI_Wait(&handle, MPI_STATUS_IGNORE); }
    virtual bool Test(Status &status) { return test(&status.mpi); }
    virtual bool Test() { return test(MPI_STATUS_IGNORE); }
    virtual void Free() { MPI_Request_free(&handle); }
    virtual void Cancel() const { MPI_Cancel(const_cast<MPI_Request *>(&handle)); }
    virtual bool Get_status(Status &status) const { return get_status(&status.mpi); }
    virtual bool Get_status() const { return get_status(MPI_STATUS_IGNORE); }
    operator MPI_Request() const { return handle; }

    MPI_Request handle;

private:
    bool test(MPI_Status *status)
    {
        int flag;
        MPI_Test(&handle, &flag, status);
        return flag != 0;
    }
    bool get_status(MPI_Status *status) const
    {
        int flag = 0;
        MPI_Request_get_status(handle, &flag, status);
        return flag != 0;
    }
};

class Prequest : public Request {
public:
    Prequest(MPI_Request request = MPI_REQUEST_NULL) : Request(request) {}
    virtual ~Prequest() {}
    virtual void Start() { MPI_Start(&handle); }
};

class Grequest : public Request {
public:
    typedef int Query_function(void *state, Status &status);
    typedef int Free_function(void *state);
    typedef int Cancel_function(void *state, bool is_complete);

    /* What the program hands over as the state of such a request. */
    struct Intercept_data_t {
        void *id_extra;
        Query_function *id_cxx_query_fn;
        Free_function *id_cxx_free_fn;
        Cancel_function *id_cxx_cancel_fn;
    };

    Grequest(MPI_Request request = MPI_REQUEST_NULL) : Request(request) {}
    static Grequest Start(Query_function *query, Free_function *release, Cancel_function *cancel, void *state);
    virtual ~Grequest() {}
    virtual void Complete() { MPI_Grequest_complete(handle); }
};

class Datatype {
public:
    typedef int Copy_attr_function(
        const Datatype &type, int keyval, void *state, const void *in, void *out, bool &flag);
    typedef int Delete_attr_function(Datatype &type, int keyval, void *value, void *state);

    Datatype(MPI_Datatype datatype = MPI_DATATYPE_NULL) : handle(datatype) {}
    virtual ~Datatype() {}
    virtual Datatype Create_contiguous(int count) const
    {
        MPI_Datatype type;
        MPI_Type_contiguous(count, handle, &type);
        return type;
    }
    virtual Datatype Create_vector(int count, int length, int stride) const
    {
        MPI_Datatype type;
        MPI_Type_vector(count, length, stride, handle, &type);
        return type;
    }
    virtual Datatype Create_indexed(int count, const int lengths[], const int places[]) const
    {
        MPI_Datatype type;
        MPI_Type_indexed(count, lengths, places, handle, &type);
        return type;
    }
    virtual Datatype Create_hindexed(int count, const int lengths[], const Aint places[]) const
    {
        MPI_Datatype type;
        MPI_Type_create_hindexed(count, lengths, places, handle, &type);
        return type;
    }
    virtual Datatype Create_hvector(int count, int length, Aint stride) const
    {
        MPI_Datatype type;
        MPI_Type_create_hvector(count, length, stride, handle, &type);
        return type;
    }
    virtual Datatype Create_indexed_block(int count, int length, const int places[]) const
    {
        MPI_Datatype type;
        MPI_Type_create_indexed_block(count, length, places, handle, &type);
        return type;
    }
    virtual Datatype Create_resized(const Aint lower, const Aint extent) const
    {
        MPI_Datatype type;
        MPI_Type_create_resized(handle, lower, extent, &type);
        return type;
    }
    virtual int Get_size() const
    {
        int size;
        MPI_Type_size(handle, &size);
        return size;
    }
    virtual void Get_extent(Aint &lower, Aint &extent) const { MPI_Type_get_extent(handle, &lower, &extent); }
    virtual void Get_true_extent(Aint &lower, Aint &extent) const { MPI_Type_get_true_extent(handle, &lower, &extent); }
    virtual void Commit() { MPI_Type_commit(&handle); }
    virtual void Free();
    virtual void Pack(const void *in, int count, void *out, int size, int &position, const Comm &comm) const;
    virtual void Unpack(const void *in, int size, void *out, int count, int &position, const Comm &comm) const;
    virtual int Pack_size(int count, const Comm &comm) const;
    virtual void Pack_external(const char *form, const void *in, int count, void *out, Aint size, Aint &position) const
    {
        MPI_Pack_external(form, in, count, handle, out, size, &position);
    }
    virtual Aint Pack_external_size(const char *form, int count) const
    {
        Aint size;
        MPI_Pack_external_size(form, count, handle, &size);
        return size;
    }
    virtual void Unpack_external(const char *form, const void *in, Aint size, Aint &position, void *out, int count)
        const
    {
        MPI_Unpack_external(form, in, size, &position, out, count, handle);
    }
    virtual Datatype Create_subarray(int dims, const int sizes[], const int subsizes[], const int starts[], int
        order) const
    {
        MPI_Datatype type;
        MPI_Type_create_subarray(dims, sizes, subsizes, starts, order, handle, &type);
        return type;
    }
    virtual Datatype Create_darray(int size, int rank, int dims, const int gsizes[], const int distribs[],
        const int dargs[], const int psizes[], int order) const
    {
        MPI_Datatype type;
        MPI_Type_create_darray(size, rank, dims, gsizes, distribs, dargs, psizes, order, handle, &type);
        return type;
    }
    virtual Datatype Dup() const
    {
        MPI_Datatype type;
        MPI_Type_dup(handle, &type);
        return type;
    }
    virtual void Delete_attr(int keyval) { MPI_Type_delete_attr(handle, keyval); }
    virtual bool Get_attr(int keyval, void *value) const
    {
        int flag;
        MPI_Type_get_attr(handle, keyval, value, &flag);
        return flag != 0;
    }
    virtual void Get_contents(int numbers_max, int addresses_max, int types_max, int numbers[], Aint addresses[],
        Datatype types[]) const
    {
        std::vector<MPI_Datatype> found(types_max);
        MPI_Type_get_contents(handle, numbers_max, addresses_max, types_max, numbers, addresses, found.data());
        for (int i = 0; i < types_max; i++) types[i].handle = found[i];
    }
    virtual void Get_envelope(int &numbers, int &addresses, int &types, int &combiner) const
    {
        MPI_Type_get_envelope(handle, &numbers, &addresses, &types, &combiner);
    }
    virtual void Get_name(char *name, int &length) const { MPI_Type_get_name(handle, name, &length); }
    virtual void Set_attr(int keyval, const void *value)
    {
        MPI_Type_set_attr(handle, keyval, const_cast<void *>(value));
    }
    virtual void Set_name(const char *name) { MPI_Type_set_name(handle, name); }
    operator MPI_Datatype() const { return handle; }

    static int Create_keyval(Copy_attr_function *copy, Delete_attr_function *remove, void *state)
    {
        int keyval;
        do_create_keyval(nullptr, nullptr, copy, remove, state, keyval);
        return keyval;
    }
    static int do_create_keyval(MPI_Type_copy_attr_function *c_copy, MPI_Type_delete_attr_function *c_delete,
        Copy_attr_function *cxx_copy, Delete_attr_function *cxx_delete, void *state, int &keyval);

    MPI_Datatype handle;
};

inline int Status::Get_count(const Datatype &datatype) const
{
    int count;
    MPI_Get_count(&mpi, datatype.handle, &count);
    return count;
}

inline int Status::Get_elements(const Datatype &datatype) const
{
    int count;
    MPI_Get_elements(&mpi, datatype.handle, &count);
    return count;
}

inline void Status::Set_elements(const Datatype &datatype, int count)
{
    MPI_Status_set_elements(&mpi, datatype.handle, count);
}

class Op {
public:
    Op(MPI_Op op = MPI_OP_NULL) : handle(op) {}
    virtual ~Op() {}
    virtual void Init(User_function *function, bool is_commutative);
    virtual void Free() { MPI_Op_free(&handle); }
    virtual void Reduce_local(const void *in, void *inout, int count, const Datatype &datatype) const
    {
        MPI_Reduce_local(in, inout, count, datatype.handle, handle);
    }
    virtual bool Is_commutative() const
    {
        int flag;
        MPI_Op_commutative(handle, &flag);
        return flag != 0;
    }
    operator MPI_Op() const { return handle; }

    MPI_Op handle;
};

class Group {
public:
    Group(MPI_Group group = MPI_GROUP_NULL) : handle(group) {}
    virtual ~Group() {}
    virtual int Get_size() const
    {
        int size;
        MPI_Group_size(handle, &size);
        return size;
    }
    virtual int Get_rank() const
    {
        int rank;
        MPI_Group_rank(handle, &rank);
        return rank;
    }
    virtual Group Incl(int count, const int ranks[]) const
    {
        MPI_Group group;
        MPI_Group_incl(handle, count, ranks, &group);
        return group;
    }
    virtual Group Excl(int count, const int ranks[]) const
    {
        MPI_Group group;
        MPI_Group_excl(handle, count, ranks, &group);
        return group;
    }
    virtual Group Range_incl(int count, const int ranges[][3]) const
    {
        MPI_Group group;
        MPI_Group_range_incl(handle, count, const_cast<int(*)[3]>(ranges), &group);
        return group;
    }
    virtual Group Range_excl(int count, const int ranges[][3]) const
    {
        MPI_Group group;
        MPI_Group_range_excl(handle, count, const_cast<int(*)[3]>(ranges), &group);
        return group;
    }
    virtual void Free() { MPI_Group_free(&handle); }
    operator MPI_Group() const { return handle; }

    MPI_Group handle;
};

class Info {
public:
    Info(MPI_Info info = MPI_INFO_NULL) : handle(info) {}
    virtual ~Info() {}
    virtual void Delete(const char *key) { MPI_Info_delete(handle, key); }
    virtual Info Dup() const
    {
        MPI_Info info;
        MPI_Info_dup(handle, &info);
        return info;
    }
    virtual void Free() { MPI_Info_free(&handle); }
    virtual bool Get(const char *key, int length, char *value) const
    {
        int flag;
        MPI_Info_get(handle, key, length, value, &flag);
        return flag != 0;
    }
    virtual int Get_nkeys() const
    {
        int count;
        MPI_Info_get_nkeys(handle, &count);
        return count;
    }
    virtual void Get_nthkey(int number, char *key) const { MPI_Info_get_nthkey(handle, number, key); }
    virtual bool Get_valuelen(const char *key, int &length) const
    {
        int flag;
        MPI_Info_get_valuelen(handle, key, &length, &flag);
        return flag != 0;
    }
    virtual void Set(const char *key, const char *value) { MPI_Info_set(handle, key, value); }
    operator MPI_Info() const { return handle; }

    MPI_Info handle;
};

class Win {
public:
    typedef int Copy_attr_function(const Win &win, int keyval, void *state, void *in, void *out, bool &flag);
    typedef int Delete_attr_function(Win &win, int keyval, void *value, void *state);
    typedef void Errhandler_function(Win &win, int *code, ...);

    Win(MPI_Win win = MPI_WIN_NULL) : handle(win) {}
    virtual ~Win() {}
    virtual void Set_errhandler(const Errhandler &handler) const { MPI_Win_set_errhandler(handle, handler); }
    virtual Errhandler Get_errhandler() const
    {
        MPI_Errhandler handler;
        MPI_Win_get_errhandler(handle, &handler);
        return handler;
    }
    virtual void Accumulate(const void *origin, int count, const Datatype &type, int rank, Aint place, int target_count,
        const Datatype &target_type, const Op &op) const
    {
        MPI_Accumulate(origin, count, type.handle, rank, place, target_count, target_type.handle, op.handle, handle);
    }
    virtual void Complete() const { MPI_Win_complete(handle); }
    virtual void Fence(int assertion) const { MPI_Win_fence(assertion, handle); }
    virtual void Free();
    virtual void Get(const void *origin, int count, const Datatype &type, int rank, Aint place, int target_count,
        const Datatype &target_type) const
    {
        MPI_Get(const_cast<void *>(origin), count, type.handle, rank, place, target_count, target_type.handle, handle);
    }
    virtual Group Get_group() const
    {
        MPI_Group group;
        MPI_Win_get_group(handle, &group);
        return group;
    }
    virtual void Lock(int type, int rank, int assertion) const { MPI_Win_lock(type, rank, assertion, handle); }
    virtual void Post(const Group &group, int assertion) const { MPI_Win_post(group.handle, assertion, handle); }
    virtual void Put(const void *origin, int count, const Datatype &type, int rank, Aint place, int target_count,
        const Datatype &target_type) const
    {
        MPI_Put(origin, count, type.handle, rank, place, target_count, target_type.handle, handle);
    }
    virtual void Start(const Group &group, int assertion) const { MPI_Win_start(group.handle, assertion, handle); }
    virtual bool Test() const
    {
        int flag;
        MPI_Win_test(handle, &flag);
        return flag != 0;
    }
    virtual void Unlock(int rank) const { MPI_Win_unlock(rank, handle); }
    virtual void Wait() const { MPI_Win_wait(handle); }
    virtual void Call_errhandler(int code) const { MPI_Win_call_errhandler(handle, code); }
    virtual void Delete_attr(int keyval) { MPI_Win_delete_attr(handle, keyval); }
    virtual void Get_name(char *name, int &length) const { MPI_Win_get_name(handle, name, &length); }
    virtual void Set_attr(int keyval, const void *value)
    {
        MPI_Win_set_attr(handle, keyval, const_cast<void *>(value));
    }
    virtual void Set_name(const char *name) { MPI_Win_set_name(handle, name); }

    static Errhandler Create_errhandler(Errhandler_function *function);
    static int do_create_keyval(MPI_Win_copy_attr_function *c_copy, MPI_Win_delete_attr_function *c_delete,
        Copy_attr_function *cxx_copy, Delete_attr_function *cxx_delete, void *state, int &keyval);

    MPI_Win handle;
};

class File {
public:
    typedef void Errhandler_function(File &file, int *code, ...);

    File(MPI_File file = MPI_FILE_NULL) : handle(file) {}
    virtual ~File() {}
    void Close();

    static Errhandler Create_errhandler(Errhandler_function *function);

    MPI_File handle;
};

typedef void Datarep_conversion_function(
    void *user, Datatype &datatype, int count, void *file, Offset position, void *state);
typedef void Datarep_extent_function(const Datatype &datatype, Aint &extent, void *state);

} // namespace MPI

#endif
