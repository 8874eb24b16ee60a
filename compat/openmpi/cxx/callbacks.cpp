/* Attributes, operations, generalized requests and data representations with functions of the program's in C++. */
#include "callbacks.h"

namespace {

/* The four functions of a key, of which two are none, and the program's own state: what MPI keeps for a key. */
template <typename CopyC, typename DeleteC, typename Copy, typename Delete> struct Key {
    CopyC *copy_c;
    DeleteC *delete_c;
    Copy *copy;
    Delete *remove;
    void *state;
};

using CommKey = Key<MPI_Comm_copy_attr_function, MPI_Comm_delete_attr_function, MPI::Comm::Copy_attr_function,
    MPI::Comm::Delete_attr_function>;
using TypeKey = Key<MPI_Type_copy_attr_function, MPI_Type_delete_attr_function, MPI::Datatype::Copy_attr_function,
    MPI::Datatype::Delete_attr_function>;
using WinKey = Key<MPI_Win_copy_attr_function, MPI_Win_delete_attr_function, MPI::Win::Copy_attr_function,
    MPI::Win::Delete_attr_function>;

template <typename KeyOf, typename Handle, typename Object>
int copied(KeyOf *key, Handle handle, const Object &object, int keyval, void *in, void *out, int *flag)
{
    if (key->copy_c != nullptr) return key->copy_c(handle, keyval, key->state, in, out, flag);
    if (key->copy == nullptr) {
        *flag = 0;
        return MPI_SUCCESS;
    }
    bool is_copied = false;
    int code = tern_guarded([&] { return key->copy(object, keyval, key->state, in, out, is_copied); });
    *flag = is_copied;
    return code;
}

template <typename KeyOf, typename Handle, typename Object>
int removed(KeyOf *key, Handle handle, Object &object, int keyval, void *value)
{
    if (key->delete_c != nullptr) return key->delete_c(handle, keyval, value, key->state);
    if (key->remove == nullptr) return MPI_SUCCESS;
    return tern_guarded([&] { return key->remove(object, keyval, value, key->state); });
}

} // namespace

extern "C" {

int ompi_mpi_cxx_comm_copy_attr_intercept(MPI_Comm comm, int keyval, void *state, void *in, void *out, int *flag)
{
    return tern_with_comm(comm,
        [&](const MPI::Comm &object) { return copied((CommKey *)state, comm, object, keyval, in, out, flag); });
}

int ompi_mpi_cxx_comm_delete_attr_intercept(MPI_Comm comm, int keyval, void *value, void *state)
{
    return tern_with_comm(
        comm, [&](MPI::Comm &object) { return removed((CommKey *)state, comm, object, keyval, value); });
}

int ompi_mpi_cxx_type_copy_attr_intercept(MPI_Datatype type, int keyval, void *state, void *in, void *out, int *flag)
{
    return copied((TypeKey *)state, type, MPI::Datatype(type), keyval, in, out, flag);
}

int ompi_mpi_cxx_type_delete_attr_intercept(MPI_Datatype type, int keyval, void *value, void *state)
{
    MPI::Datatype object(type);
    return removed((TypeKey *)state, type, object, keyval, value);
}

int ompi_mpi_cxx_win_copy_attr_intercept(MPI_Win win, int keyval, void *state, void *in, void *out, int *flag)
{
    return copied((WinKey *)state, win, MPI::Win(win), keyval, in, out, flag);
}

int ompi_mpi_cxx_win_delete_attr_intercept(MPI_Win win, int keyval, void *value, void *state)
{
    MPI::Win object(win);
    return removed((WinKey *)state, win, object, keyval, value);
}

/* The function of each operation. libmpi.so.40 knows which one of the program's that operation has, and hands it over. */
void ompi_mpi_cxx_op_intercept(void *in, void *inout, int *length, MPI_Datatype *type, MPI::User_function *function) noexcept
{
    MPI::Datatype datatype(*type);
    function(in, inout, *length, datatype);
}

void ompi_op_set_cxx_callback(MPI_Op op, MPI_User_function *function);

int ompi_mpi_cxx_grequest_query_fn_intercept(void *state, MPI_Status *status)
{
    MPI::Grequest::Intercept_data_t *kept = (MPI::Grequest::Intercept_data_t *)state;
    MPI::Status found(*status);
    int code = tern_guarded([&] { return kept->id_cxx_query_fn(kept->id_extra, found); });
    *status = found.mpi;
    return code;
}

/* The program has made the state with new. */
int ompi_mpi_cxx_grequest_free_fn_intercept(void *state)
{
    MPI::Grequest::Intercept_data_t *kept = (MPI::Grequest::Intercept_data_t *)state;
    int code = tern_guarded([&] { return kept->id_cxx_free_fn(kept->id_extra); });
    delete kept;
    return code;
}

int ompi_mpi_cxx_grequest_cancel_fn_intercept(void *state, int is_complete)
{
    MPI::Grequest::Intercept_data_t *kept = (MPI::Grequest::Intercept_data_t *)state;
    return tern_guarded([&] { return kept->id_cxx_cancel_fn(kept->id_extra, is_complete != 0); });
}

} // extern "C"

namespace MPI {

/* What MPI keeps of a key lives as long as the program: MPI does not say when a key has ended. */
int Comm::do_create_keyval(MPI_Comm_copy_attr_function *c_copy, MPI_Comm_delete_attr_function *c_delete,
    Copy_attr_function *cxx_copy, Delete_attr_function *cxx_delete, void *state, int &keyval)
{
    CommKey *kept = new CommKey{c_copy, c_delete, cxx_copy, cxx_delete, state};
    return MPI_Comm_create_keyval(
        ompi_mpi_cxx_comm_copy_attr_intercept, ompi_mpi_cxx_comm_delete_attr_intercept, &keyval, kept);
}

int Datatype::do_create_keyval(MPI_Type_copy_attr_function *c_copy, MPI_Type_delete_attr_function *c_delete,
    Copy_attr_function *cxx_copy, Delete_attr_function *cxx_delete, void *state, int &keyval)
{
    TypeKey *kept = new TypeKey{c_copy, c_delete, cxx_copy, cxx_delete, state};
    return MPI_Type_create_keyval(
        ompi_mpi_cxx_type_copy_attr_intercept, ompi_mpi_cxx_type_delete_attr_intercept, &keyval, kept);
}

int Win::do_create_keyval(MPI_Win_copy_attr_function *c_copy, MPI_Win_delete_attr_function *c_delete,
    Copy_attr_function *cxx_copy, Delete_attr_function *cxx_delete, void *state, int &keyval)
{
    WinKey *kept = new WinKey{c_copy, c_delete, cxx_copy, cxx_delete, state};
    return MPI_Win_create_keyval(
        ompi_mpi_cxx_win_copy_attr_intercept, ompi_mpi_cxx_win_delete_attr_intercept, &keyval, kept);
}

Grequest Grequest::Start(Query_function *query, Free_function *release, Cancel_function *cancel, void *state)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Grequest_start(ompi_mpi_cxx_grequest_query_fn_intercept, ompi_mpi_cxx_grequest_free_fn_intercept,
        ompi_mpi_cxx_grequest_cancel_fn_intercept, new Intercept_data_t{state, query, release, cancel}, &request);
    return request;
}

void Op::Init(User_function *function, bool is_commutative)
{
    MPI_Op_create((MPI_User_function *)ompi_mpi_cxx_op_intercept, is_commutative, &handle);
    ompi_op_set_cxx_callback(handle, (MPI_User_function *)function);
}

} // namespace MPI

// ------------------------------------------------------------------------------------------------ data representations

namespace {

/* The functions of a data representation, which lives as long as MPI. */
struct Form {
    MPI::Datarep_conversion_function *read;
    MPI::Datarep_conversion_function *write;
    MPI_Datarep_conversion_function *read_c;
    MPI_Datarep_conversion_function *write_c;
    MPI::Datarep_extent_function *extent;
    void *state;
};

int converted(MPI::Datarep_conversion_function *function, MPI_Datarep_conversion_function *function_c, void *user,
    MPI_Datatype type, int count, void *file, MPI_Offset position, void *state)
{
    if (function_c != nullptr) return function_c(user, type, count, file, position, state);
    return tern_guarded([&] {
        MPI::Datatype datatype(type);
        function(user, datatype, count, file, position, state);
        return MPI_SUCCESS;
    });
}

extern "C" int tern_form_read(void *user, MPI_Datatype type, int count, void *file, MPI_Offset position, void *state)
{
    Form *form = (Form *)state;
    return converted(form->read, form->read_c, user, type, count, file, position, form->state);
}

extern "C" int tern_form_write(void *user, MPI_Datatype type, int count, void *file, MPI_Offset position, void *state)
{
    Form *form = (Form *)state;
    return converted(form->write, form->write_c, user, type, count, file, position, form->state);
}

extern "C" int tern_form_extent(MPI_Datatype type, MPI_Aint *extent, void *state)
{
    Form *form = (Form *)state;
    return tern_guarded([&] {
        form->extent(MPI::Datatype(type), *extent, form->state);
        return MPI_SUCCESS;
    });
}

/* A function in C may be none: then MPI converts nothing on that way. */
void register_form(const char *name, const Form &form)
{
    bool reads = form.read != nullptr || form.read_c != nullptr, writes = form.write != nullptr || form.write_c != nullptr;
    MPI_Register_datarep(name, reads ? tern_form_read : nullptr, writes ? tern_form_write : nullptr, tern_form_extent,
        new Form(form));
}

} // namespace

namespace MPI {

void Register_datarep(const char *name, Datarep_conversion_function *read, Datarep_conversion_function *write,
    Datarep_extent_function *extent, void *state)
{
    register_form(name, {read, write, nullptr, nullptr, extent, state});
}

void Register_datarep(const char *name, MPI_Datarep_conversion_function *read, Datarep_conversion_function *write,
    Datarep_extent_function *extent, void *state)
{
    register_form(name, {nullptr, write, read, nullptr, extent, state});
}

void Register_datarep(const char *name, Datarep_conversion_function *read, MPI_Datarep_conversion_function *write,
    Datarep_extent_function *extent, void *state)
{
    register_form(name, {read, nullptr, nullptr, write, extent, state});
}

void Register_datarep(const char *name, MPI_Datarep_conversion_function *read, MPI_Datarep_conversion_function *write,
    Datarep_extent_function *extent, void *state)
{
    register_form(name, {nullptr, nullptr, read, write, extent, state});
}

} // namespace MPI
