//! Functions for which a conversion of their parameters is not enough: those that take functions, give attributes, start
//! MPI, or have arrays that only the root passes.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering};

use tern_abi::*;

use crate::callbacks::{self, Datarep, Functions, GeneralizedFunctions};
use crate::foreign::{Address, ForeignAbi, ForeignHandle, ForeignStatus, code_out, rank_in, rank_out};
use crate::kinds::{HandleList, HandleOut, Length, Param};
use crate::number::ConstantFamily;
use crate::tern;
use crate::tern::{give_up, spawn_codes, start_through};

/// Calls with a handle that the call makes.
unsafe fn making<F: ForeignAbi, H: ForeignHandle>(
    place: *mut H,
    call: impl FnOnce(*mut H::Inner) -> c_int,
) -> c_int {
    // SAFETY: the caller's place of a handle.
    unsafe {
        let mut held = HandleOut::<H>::hold(place, 0);
        let code = call(HandleOut::<H>::pass(&mut held));
        HandleOut::<H>::give(&mut held, place, code != MPI_SUCCESS);
        code_out::<F>(code)
    }
}

/// Raises an error as Tern does, on no object.
fn raise<F: ForeignAbi>(class: c_int) -> c_int {
    // SAFETY: the handle is predefined.
    code_out::<F>(
        unsafe { tern!(MPI_Comm_call_errhandler(MPI_COMM_SELF => MPI_Comm, class => c_int)) }.max(class),
    )
}

/// Too many different functions of one kind. The error has a code of its own, so that its text says so.
#[cold]
fn too_many<F: ForeignAbi>() -> c_int {
    static CODE: OnceLock<c_int> = OnceLock::new();
    let code = *CODE.get_or_init(|| {
        let mut code = MPI_ERR_NO_MEM;
        let text = format!(
            "at most {} different functions can be those of operations or of error handlers at once: free some\0",
            callbacks::FUNCTIONS_MAX
        );
        // SAFETY: the place of a number, and a text that ends in zero.
        unsafe {
            if tern!(MPI_Add_error_code(MPI_ERR_NO_MEM => c_int, &mut code => *mut c_int)) == MPI_SUCCESS {
                tern!(MPI_Add_error_string(code => c_int, text.as_ptr() => *const u8));
            }
        }
        code
    });
    raise::<F>(code)
}

// ---------------------------------------------------------------------------------------------- starting

/// Before MPI starts: ends the process if it has another MPI beside this one, and tells Tern by which library it starts.
fn starting<F: ForeignAbi>() {
    let started = tern_fellows::StartedLibrary { abi: F::NAME, file: F::LIBRARY };
    if let Some(why) = tern_fellows::conflict(started) {
        give_up(&why);
    }
    start_through();
}

/// `MPI_Init`.
pub unsafe fn init<F: ForeignAbi>(argc: Address, argv: Address) -> c_int {
    starting::<F>();
    // SAFETY: the program's own arguments.
    code_out::<F>(unsafe { tern!(MPI_Init(argc => Address, argv => Address)) })
}

/// `MPI_Init_thread`.
pub unsafe fn init_thread<F: ForeignAbi>(
    argc: Address,
    argv: Address,
    required: c_int,
    provided: Address,
) -> c_int {
    starting::<F>();
    let provided = provided.cast::<c_int>();
    let required = F::ThreadLevel::inner(required);
    // SAFETY: the program's own arguments.
    unsafe {
        let code = tern!(MPI_Init_thread(
            argc => Address, argv => Address, required => c_int, provided => *mut c_int
        ));
        if code == MPI_SUCCESS && !provided.is_null() {
            *provided = F::ThreadLevel::outer(*provided);
        }
        code_out::<F>(code)
    }
}

/// `MPI_Session_init`.
pub unsafe fn session_init<F: ForeignAbi>(
    info: F::Info,
    errhandler: F::Errhandler,
    session: Address,
) -> c_int {
    starting::<F>();
    // SAFETY: the program's own arguments.
    unsafe {
        making::<F, F::Session>(session.cast(), |session| {
            tern!(MPI_Session_init(
                info.inner() => MPI_Info, errhandler.inner() => MPI_Errhandler, session => *mut MPI_Session
            ))
        })
    }
}

/// `MPI_Abi_get_version`: this ABI is not the standard one, and says so as MPICH does.
pub unsafe fn abi_get_version<F: ForeignAbi>(major: Address, minor: Address) -> c_int {
    for place in [major, minor] {
        if !place.is_null() {
            // SAFETY: the program gave the place of a number.
            unsafe { *place.cast::<c_int>() = -1 };
        }
    }
    MPI_SUCCESS
}

/// `MPI_Get_library_version`: programs and bindings of other languages read in it which ABI they have before them.
pub unsafe fn get_library_version<F: ForeignAbi>(version: Address, length: Address) -> c_int {
    let mut own = [0u8; MPI_MAX_LIBRARY_VERSION_STRING as usize];
    let mut own_length = 0;
    // SAFETY: the places of a text of the standard's length and of a number.
    let code =
        unsafe { tern!(MPI_Get_library_version(own.as_mut_ptr() => *mut u8, &mut own_length => *mut c_int)) };
    if code == MPI_SUCCESS && !version.is_null() && !length.is_null() {
        let mut text = [F::RELEASE.as_bytes(), &own[..own_length as usize]].concat();
        text.truncate(F::LIBRARY_VERSION_MAX - 1);
        // SAFETY: the program gave the places of a text of this length and of a number.
        unsafe {
            version.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), text.len());
            *version.cast::<u8>().add(text.len()) = 0;
            *length.cast::<c_int>() = text.len() as c_int;
        }
    }
    code_out::<F>(code)
}

// ---------------------------------------------------------------------------------------------- statuses

/// `MPI_Status_get_error`.
pub unsafe fn status_get_error<F: ForeignAbi>(status: Address, error: Address) -> c_int {
    // SAFETY: the program gave the places of a status and a number.
    unsafe { *error.cast::<c_int>() = *(*status.cast::<F::Status>()).error() };
    MPI_SUCCESS
}

/// `MPI_Status_set_error`.
pub unsafe fn status_set_error<F: ForeignAbi>(status: Address, error: c_int) -> c_int {
    // SAFETY: the program gave the place of a status.
    unsafe { *(*status.cast::<F::Status>()).error() = error };
    MPI_SUCCESS
}

// ---------------------------------------------------------------------------------------------- operations and handlers

/// `MPI_Op_create`.
pub unsafe fn op_create<F: ForeignAbi>(function: Address, commute: c_int, op: Address) -> c_int {
    if F::calls_another(function) {
        // SAFETY: the program's own arguments.
        return unsafe { op_create_apart::<F>(function, commute, op) };
    }
    let Some(stand_in) = callbacks::operation_for::<F>(function) else { return too_many::<F>() };
    // SAFETY: the program's own arguments.
    unsafe {
        making::<F, F::Op>(
            op.cast(),
            |op| tern!(MPI_Op_create(stand_in.address => *const c_void, commute => c_int, op => *mut MPI_Op)),
        )
    }
}

/// `MPI_Op_create` with a function of the bindings of another language, which calls one of the program's.
unsafe fn op_create_apart<F: ForeignAbi>(function: Address, commute: c_int, op: Address) -> c_int {
    let Some(stand_in) = callbacks::operation_apart::<F>(function) else { return too_many::<F>() };
    // SAFETY: the program's own arguments; the place holds a handle once one is made.
    unsafe {
        let code = making::<F, F::Op>(
            op.cast(),
            |op| tern!(MPI_Op_create(stand_in.address => *const c_void, commute => c_int, op => *mut MPI_Op)),
        );
        if code == MPI_SUCCESS {
            callbacks::keep_operation((*op.cast::<F::Op>()).inner(), &stand_in);
        }
        code
    }
}

/// `MPI_Op_create_c`.
pub unsafe fn op_create_large<F: ForeignAbi>(function: Address, commute: c_int, op: Address) -> c_int {
    let Some(stand_in) = callbacks::large_operation_for::<F>(function) else { return too_many::<F>() };
    // SAFETY: the program's own arguments.
    unsafe {
        making::<F, F::Op>(
            op.cast(),
            |op| tern!(MPI_Op_create_c(stand_in.address => *const c_void, commute => c_int, op => *mut MPI_Op)),
        )
    }
}

/// Makes error handlers for one kind of object.
macro_rules! errhandlers {
    ($($(#[$doc:meta])* $name:ident: $tern:ident, $handle:ident;)*) => {$(
        $(#[$doc])*
        pub unsafe fn $name<F: ForeignAbi>(function: Address, errhandler: Address) -> c_int {
            let found = callbacks::errhandler_for::<F, F::$handle>(function);
            let Some(stand_in) = found else { return too_many::<F>() };
            // SAFETY: the program's own arguments.
            unsafe {
                making::<F, F::Errhandler>(errhandler.cast(), |errhandler| {
                    tern!($tern(stand_in.address => *const c_void, errhandler => *mut MPI_Errhandler))
                })
            }
        }
    )*};
}

errhandlers! {
    /// `MPI_Comm_create_errhandler`.
    comm_create_errhandler: MPI_Comm_create_errhandler, Comm;
    /// `MPI_File_create_errhandler`.
    file_create_errhandler: MPI_File_create_errhandler, File;
    /// `MPI_Win_create_errhandler`.
    win_create_errhandler: MPI_Win_create_errhandler, Win;
    /// `MPI_Session_create_errhandler`.
    session_create_errhandler: MPI_Session_create_errhandler, Session;
}

// ---------------------------------------------------------------------------------------------- attributes

/// Makes keys for one kind of object.
macro_rules! keyvals {
    ($($(#[$doc:meta])* $name:ident: $tern:ident, $handle:ident;)*) => {$(
        $(#[$doc])*
        pub unsafe fn $name<F: ForeignAbi>(copy: Address, delete: Address, keyval: Address, state: Address) -> c_int {
            let kept = Functions::kept(copy, delete, state);
            let copy = (!copy.is_null()).then_some(callbacks::copy_attribute::<F, F::$handle> as CopyAttr<_>);
            let delete = (!delete.is_null()).then_some(callbacks::delete_attribute::<F, F::$handle> as DeleteAttr<_>);
            // SAFETY: the program's own arguments. A key of the program's is the same in both ABIs.
            code_out::<F>(unsafe {
                tern!($tern(
                    copy => Option<CopyAttr<<F::$handle as ForeignHandle>::Inner>>,
                    delete => Option<DeleteAttr<<F::$handle as ForeignHandle>::Inner>>,
                    keyval => Address, kept => Address
                ))
            })
        }
    )*};
}

keyvals! {
    /// `MPI_Comm_create_keyval`.
    comm_create_keyval: MPI_Comm_create_keyval, Comm;
    /// `MPI_Keyval_create`.
    keyval_create: MPI_Keyval_create, Comm;
    /// `MPI_Type_create_keyval`.
    type_create_keyval: MPI_Type_create_keyval, Datatype;
    /// `MPI_Win_create_keyval`.
    win_create_keyval: MPI_Win_create_keyval, Win;
}

/// `MPI_Comm_get_attr`.
pub unsafe fn comm_get_attr<F: ForeignAbi>(
    comm: F::Comm,
    key: c_int,
    value: Address,
    flag: Address,
) -> c_int {
    let key = F::Keyval::inner(key);
    // SAFETY: the program's own arguments.
    unsafe {
        let code = tern!(MPI_Comm_get_attr(
            comm.inner() => MPI_Comm, key => c_int, value => Address, flag => Address
        ));
        found_on_comm::<F>(code, key, value, flag)
    }
}

/// `MPI_Attr_get`.
pub unsafe fn attr_get<F: ForeignAbi>(comm: F::Comm, key: c_int, value: Address, flag: Address) -> c_int {
    // SAFETY: the same contract.
    unsafe { comm_get_attr::<F>(comm, key, value, flag) }
}

/// A number that the value of a predefined attribute points to, in the other ABI's form.
static CONVERTED: [AtomicI32; 3] = [const { AtomicI32::new(0) }; 3];

/// Puts the address of a converted number in place of that of Tern's number.
unsafe fn found_on_comm<F: ForeignAbi>(code: c_int, key: c_int, value: Address, flag: Address) -> c_int {
    let slot = match key {
        MPI_HOST => 0,
        MPI_IO => 1,
        MPI_LASTUSEDCODE => 2,
        _ => return code_out::<F>(code),
    };
    // SAFETY: the call has succeeded, so it has written the flag, and the address of a number if there is one.
    unsafe {
        if code == MPI_SUCCESS && *flag.cast::<c_int>() != 0 {
            let place = value.cast::<*const c_int>();
            let number = **place;
            let outer = if slot == 2 { F::ErrorCode::outer(number) } else { rank_out::<F>(number) };
            CONVERTED[slot].store(outer, Ordering::Relaxed);
            *place = CONVERTED[slot].as_ptr();
        }
    }
    code_out::<F>(code)
}

/// `MPI_Win_get_attr`.
pub unsafe fn win_get_attr<F: ForeignAbi>(win: F::Win, key: c_int, value: Address, flag: Address) -> c_int {
    let key = F::Keyval::inner(key);
    // SAFETY: the program's own arguments; where the call says so it has written the address of a number.
    unsafe {
        let code =
            tern!(MPI_Win_get_attr(win.inner() => MPI_Win, key => c_int, value => Address, flag => Address));
        let table = match key {
            MPI_WIN_CREATE_FLAVOR => F::FLAVORS,
            MPI_WIN_MODEL => F::MODELS,
            _ => return code_out::<F>(code),
        };
        if code == MPI_SUCCESS && *flag.cast::<c_int>() != 0 {
            let place = value.cast::<*const c_int>();
            let number = **place;
            if let Some(pair) = table.iter().find(|pair| pair.1 == number) {
                *place = &pair.0;
            }
        }
        code_out::<F>(code)
    }
}

// ---------------------------------------------------------------------------------------------- requests and files

/// `MPI_Grequest_start`.
pub unsafe fn grequest_start<F: ForeignAbi>(
    query: Address,
    free: Address,
    cancel: Address,
    state: Address,
    request: Address,
) -> c_int {
    let kept = GeneralizedFunctions::kept(query, free, cancel, state);
    // SAFETY: the program's own arguments; what is kept is given up if Tern does not take it.
    unsafe {
        let code = making::<F, F::Request>(request.cast(), |request| {
            tern!(MPI_Grequest_start(
                callbacks::query_request::<F> => MPI_Grequest_query_function,
                callbacks::free_request::<F> => MPI_Grequest_free_function,
                callbacks::cancel_request::<F> => MPI_Grequest_cancel_function,
                kept.cast() => Address, request => *mut MPI_Request
            ))
        });
        if code != MPI_SUCCESS {
            drop(Box::from_raw(kept));
        }
        code
    }
}

/// Registers a data representation with functions of one width.
macro_rules! datareps {
    ($($(#[$doc:meta])* $name:ident: $tern:ident, $type:ident, $read:ident, $write:ident;)*) => {$(
        $(#[$doc])*
        pub unsafe fn $name<F: ForeignAbi>(
            datarep: Address,
            read: Address,
            write: Address,
            extent: Address,
            state: Address,
        ) -> c_int {
            let kept = Datarep::kept(read, write, extent, state);
            let read = (!read.is_null()).then_some(callbacks::$read::<F> as $type);
            let write = (!write.is_null()).then_some(callbacks::$write::<F> as $type);
            let extent =
                (!extent.is_null()).then_some(callbacks::datarep_extent::<F> as MPI_Datarep_extent_function);
            // SAFETY: the program's own arguments.
            code_out::<F>(unsafe {
                tern!($tern(
                    datarep => Address, read => Option<$type>, write => Option<$type>,
                    extent => Option<MPI_Datarep_extent_function>, kept => Address
                ))
            })
        }
    )*};
}

datareps! {
    /// `MPI_Register_datarep`.
    register_datarep: MPI_Register_datarep, MPI_Datarep_conversion_function, datarep_read, datarep_write;
    /// `MPI_Register_datarep_c`.
    register_datarep_large: MPI_Register_datarep_c, MPI_Datarep_conversion_function_c, datarep_read_large,
        datarep_write_large;
}

pub use crate::bound::*;
pub use crate::contents::{type_get_contents, type_get_contents_large};
pub use crate::removed::*;
pub use crate::split::comm_split_type;

// ---------------------------------------------------------------------------------------------- processes

/// `MPI_Comm_spawn`.
pub unsafe fn comm_spawn<F: ForeignAbi>(
    command: Address,
    argv: Address,
    maxprocs: c_int,
    info: F::Info,
    root: c_int,
    comm: F::Comm,
    intercomm: Address,
    errcodes: Address,
) -> c_int {
    let (root, comm) = (rank_in::<F>(root), comm.inner());
    // SAFETY: the program's own arguments. What only the root passes is converted but not followed.
    unsafe {
        making::<F, F::Comm>(intercomm.cast(), |made| {
            let code = tern!(MPI_Comm_spawn(
                command => Address, argv => Address, maxprocs => c_int, info.inner() => MPI_Info, root => c_int,
                comm => MPI_Comm, made => *mut MPI_Comm, errcodes => Address
            ));
            spawned::<F>(code, made, errcodes.cast());
            code
        })
    }
}

/// `MPI_Comm_spawn_multiple`.
pub unsafe fn comm_spawn_multiple<F: ForeignAbi>(
    count: c_int,
    commands: Address,
    argvs: Address,
    maxprocs: Address,
    infos: Address,
    root: c_int,
    comm: F::Comm,
    intercomm: Address,
    errcodes: Address,
) -> c_int {
    let (root, comm) = (rank_in::<F>(root), comm.inner());
    // SAFETY: the program's own arguments. The arrays are looked at on the root only, which alone must pass them.
    unsafe {
        let length = if is_rank(comm, root) { count.length() } else { 0 };
        let mut held = HandleList::<F::Info>::hold(infos.cast(), length);
        making::<F, F::Comm>(intercomm.cast(), |made| {
            let code = tern!(MPI_Comm_spawn_multiple(
                count => c_int, commands => Address, argvs => Address, maxprocs => Address,
                HandleList::<F::Info>::pass(&mut held) => *const MPI_Info, root => c_int, comm => MPI_Comm,
                made => *mut MPI_Comm, errcodes => Address
            ));
            spawned::<F>(code, made, errcodes.cast());
            code
        })
    }
}

/// Whether this process has a rank in a communicator.
unsafe fn is_rank(comm: MPI_Comm, rank: c_int) -> bool {
    let mut own = MPI_UNDEFINED;
    // SAFETY: the place of a number.
    unsafe { tern!(MPI_Comm_rank(comm => MPI_Comm, &mut own => *mut c_int)) == MPI_SUCCESS && own == rank }
}

/// Converts the error codes of new processes. Without word of how many there are, the new communicator knows how many were started.
unsafe fn spawned<F: ForeignAbi>(code: c_int, made: *mut MPI_Comm, errcodes: *mut c_int) {
    if code != MPI_SUCCESS || errcodes.is_null() || made.is_null() {
        return;
    }
    let started = || {
        let mut size = 0;
        // SAFETY: the communicator was made, and this is the place of a number.
        unsafe { tern!(MPI_Comm_remote_size(*made => MPI_Comm, &mut size => *mut c_int)) };
        size.length()
    };
    for index in 0..spawn_codes().unwrap_or_else(started) {
        // SAFETY: the program gave the place of a code for each process.
        unsafe { *errcodes.add(index) = code_out::<F>(*errcodes.add(index)) };
    }
}

// ---------------------------------------------------------------------------------------------- lengths of arrays

/// How many processes a collective call of a communicator exchanges with.
pub fn peers<H: ForeignHandle<Inner = MPI_Comm>>(comm: H) -> usize {
    let (comm, mut inter, mut size) = (comm.inner(), 0, 0);
    // SAFETY: the places of numbers.
    unsafe {
        if tern!(MPI_Comm_test_inter(comm => MPI_Comm, &mut inter => *mut c_int)) != MPI_SUCCESS {
            return 0;
        }
        if inter != 0 {
            tern!(MPI_Comm_remote_size(comm => MPI_Comm, &mut size => *mut c_int));
        } else {
            tern!(MPI_Comm_size(comm => MPI_Comm, &mut size => *mut c_int));
        }
    }
    size.length()
}

/// The length that the program has written where the call writes another one; none where it has written nothing.
pub fn pointed(length: Address) -> usize {
    // SAFETY: the program gave the place of a number, or none.
    unsafe { length.cast::<c_int>().as_ref() }.map_or(0, |length| length.length())
}

/// The neighbors of this process: those that it receives from, and those that it sends to.
pub fn neighbors(comm: MPI_Comm) -> (usize, usize) {
    let (mut topology, mut dimensions, mut count, mut rank) = (MPI_UNDEFINED, 0, 0, 0);
    let (mut sources, mut targets, mut weighted) = (0, 0, 0);
    // SAFETY: the places of numbers.
    unsafe {
        tern!(MPI_Topo_test(comm => MPI_Comm, &mut topology => *mut c_int));
        match topology {
            MPI_CART => {
                tern!(MPI_Cartdim_get(comm => MPI_Comm, &mut dimensions => *mut c_int));
                (2 * dimensions.length(), 2 * dimensions.length())
            }
            MPI_GRAPH => {
                tern!(MPI_Comm_rank(comm => MPI_Comm, &mut rank => *mut c_int));
                tern!(MPI_Graph_neighbors_count(comm => MPI_Comm, rank => c_int, &mut count => *mut c_int));
                (count.length(), count.length())
            }
            MPI_DIST_GRAPH => {
                tern!(MPI_Dist_graph_neighbors_count(
                    comm => MPI_Comm, &mut sources => *mut c_int, &mut targets => *mut c_int,
                    &mut weighted => *mut c_int
                ));
                (sources.length(), targets.length())
            }
            _ => (0, 0),
        }
    }
}
