//! Functions of the program that Tern calls. Each call goes through a function of this library, which converts what it is
//! given and calls the program's.
//!
//! Where the standard gives a function some state of the program's, the state is replaced by a [`Functions`] or its kin.
//! Reductions and error handlers have none: each function of the program gets one of a stock of functions here.
//!
//! A function of a Fortran program is given integers. That matters where handles are addresses in C, so a Fortran library
//! says of whom the function is that it hands over ([`function_of_fortran`]).

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::Mutex;

use tern_abi::*;

use crate::foreign::{ForeignAbi, ForeignHandle, ForeignStatus};
use crate::number::ConstantFamily;
use crate::stock::{CallbackLanguage, Stock, StockNumber};

/// Distinct functions of a kind that a program may have in use at once.
pub const FUNCTIONS_MAX: usize = 256;

thread_local! {
    /// In which language the function is that this thread hands over next.
    static LANGUAGE: Cell<CallbackLanguage> = const { Cell::new(CallbackLanguage::C) };
}

/// Says whether the function that this thread hands over next is one of a Fortran program.
pub fn function_of_fortran(whether: bool) {
    LANGUAGE.set(if whether { CallbackLanguage::Fortran } else { CallbackLanguage::C });
}

/// Calls with the address of what a function of a language takes for a handle.
#[inline(always)]
fn with_handle<H: ForeignHandle>(outer: H, language: CallbackLanguage, call: impl FnOnce(*mut c_void)) {
    match language {
        CallbackLanguage::C => {
            let mut handle = outer;
            call((&raw mut handle).cast());
        }
        CallbackLanguage::Fortran => {
            let mut integer = outer.fortran();
            call((&raw mut integer).cast());
        }
    }
}

static OPERATIONS: Stock<FUNCTIONS_MAX> = Stock::new();
static LARGE_OPERATIONS: Stock<FUNCTIONS_MAX> = Stock::new();
static ERRHANDLERS: Stock<FUNCTIONS_MAX> = Stock::new();

/// An array of functions `$of::<…, 0>` to `$of::<…, 255>`.
macro_rules! all_numbers {
    ($of:ident::<$($parameter:ty),*>) => {
        all_numbers!(@tens $of [$($parameter),*] 0 16 32 48 64 80 96 112 128 144 160 176 192 208 224 240)
    };
    (@tens $of:ident $parameters:tt $($base:literal)*) => {
        [$(all_numbers!(@ones $of $parameters $base 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)),*]
    };
    (@ones $of:ident $parameters:tt $base:literal $($one:literal)*) => {
        [$(all_numbers!(@one $of $parameters $base $one)),*]
    };
    (@one $of:ident [$($parameter:ty),*] $base:literal $one:literal) => {
        $of::<$($parameter,)* { $base + $one }> as _
    };
}

/// Functions of this library in two steps of sixteen.
type Numbered<T> = [[T; 16]; FUNCTIONS_MAX / 16];

/// The functions of this library for one ABI.
struct Made<F>(std::marker::PhantomData<F>);

impl<F: ForeignAbi> Made<F> {
    const OPERATIONS: Numbered<MPI_User_function> = all_numbers!(operation::<F>);
    const LARGE_OPERATIONS: Numbered<MPI_User_function_c> = all_numbers!(large_operation::<F>);
}

/// The functions of this library that handle errors on one kind of object.
struct Handlers<F, H>(std::marker::PhantomData<(F, H)>);

/// An error handler, without the arguments that nobody passes.
type Errorhandler<Inner> = unsafe extern "C" fn(*mut Inner, *mut c_int);

impl<F: ForeignAbi, H: ForeignHandle> Handlers<F, H> {
    const ALL: Numbered<Errorhandler<H::Inner>> = all_numbers!(handle_error::<F, H>);
}

fn pick<T: Copy>(all: &Numbered<T>, number: usize) -> T {
    all[number / 16][number % 16]
}

unsafe extern "C" fn operation<F: ForeignAbi, const N: usize>(
    invec: *mut c_void,
    inoutvec: *mut c_void,
    length: *mut c_int,
    datatype: *mut MPI_Datatype,
) {
    type Function = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut c_void, *const c_void);
    // SAFETY: the number was given for a function of this type, or of one without the last argument, which then finds that in a register
    // that it does not look at. Tern passes what the standard demands.
    unsafe {
        let function: Function = std::mem::transmute(OPERATIONS.function(N));
        with_handle(F::Datatype::outer(*datatype), OPERATIONS.language(N), |datatype| {
            function(invec, inoutvec, length, datatype, OPERATIONS.inner(N));
        });
    }
}

unsafe extern "C" fn large_operation<F: ForeignAbi, const N: usize>(
    invec: *mut c_void,
    inoutvec: *mut c_void,
    length: *mut MPI_Count,
    datatype: *mut MPI_Datatype,
) {
    type Function = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut MPI_Count, *mut c_void);
    // SAFETY: the number was given for a function of this type; Tern passes what the standard demands.
    unsafe {
        let function: Function = std::mem::transmute(LARGE_OPERATIONS.function(N));
        with_handle(F::Datatype::outer(*datatype), LARGE_OPERATIONS.language(N), |datatype| {
            function(invec, inoutvec, length, datatype);
        });
    }
}

unsafe extern "C" fn handle_error<F: ForeignAbi, H: ForeignHandle, const N: usize>(
    object: *mut H::Inner,
    code: *mut c_int,
) {
    // SAFETY: the number was given for a function of this type; Tern passes what the standard demands.
    unsafe {
        let mut outer_code = F::ErrorCode::outer(*code);
        let function: unsafe extern "C" fn(*mut c_void, *mut c_int, ...) =
            std::mem::transmute(ERRHANDLERS.function(N));
        let given = outer_code;
        with_handle(H::outer(*object), ERRHANDLERS.language(N), |object| function(object, &mut outer_code));
        if outer_code != given {
            *code = F::ErrorCode::inner(outer_code);
        }
    }
}

/// A function of this library that Tern is to call for one of the program's. It stays that while this lives, and afterwards while
/// Tern may call it.
#[must_use]
pub struct StandIn {
    /// The function; null for null.
    pub address: *const c_void,
    number: Option<StockNumber>,
}

impl StandIn {
    const NULL: StandIn = StandIn { address: std::ptr::null(), number: None };

    fn of<T: Copy>(all: &Numbered<T>, address: impl Fn(T) -> *const c_void, number: StockNumber) -> Self {
        StandIn { address: address(pick(all, number.get())), number: Some(number) }
    }
}

/// Whether Tern may call a function of this library.
fn may_call(function: *const c_void) -> bool {
    crate::tern::may_call(function as usize)
}

fn is_operation_in_use<F: ForeignAbi>(number: usize) -> bool {
    may_call(pick(&Made::<F>::OPERATIONS, number) as *const c_void)
}

/// A number is that of a function for each kind of object.
fn is_handler_in_use<F: ForeignAbi>(number: usize) -> bool {
    let of_kinds = [
        pick(&Handlers::<F, F::Comm>::ALL, number) as *const c_void,
        pick(&Handlers::<F, F::File>::ALL, number) as *const c_void,
        pick(&Handlers::<F, F::Win>::ALL, number) as *const c_void,
        pick(&Handlers::<F, F::Session>::ALL, number) as *const c_void,
    ];
    of_kinds.into_iter().any(may_call)
}

/// What Tern calls for an operation of the program's; none if there are too many.
pub fn operation_for<F: ForeignAbi>(function: *const c_void) -> Option<StandIn> {
    if function.is_null() {
        return Some(StandIn::NULL);
    }
    let number =
        OPERATIONS.number(function, LANGUAGE.replace(CallbackLanguage::C), is_operation_in_use::<F>)?;
    Some(StandIn::of(&Made::<F>::OPERATIONS, |found| found as *const c_void, number))
}

/// Operations whose function calls another one of the program's: the standard's handles, and the numbers of the functions.
static OPERATIONS_APART: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());

/// What Tern calls for an operation whose function is told by [`tell_operation`] what to call; none if there are too many.
pub fn operation_apart<F: ForeignAbi>(function: *const c_void) -> Option<StandIn> {
    let number = OPERATIONS.number_apart(function, is_operation_in_use::<F>)?;
    Some(StandIn::of(&Made::<F>::OPERATIONS, |found| found as *const c_void, number))
}

/// The function of an operation is this.
pub fn keep_operation(op: MPI_Op, stand_in: &StandIn) {
    let Some(number) = stand_in.number.as_ref().map(StockNumber::get) else { return };
    let mut apart = OPERATIONS_APART.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    // A handle may come again once its operation is freed, and so may a number.
    apart.retain(|known| known.0 != op.0 && known.1 != number);
    apart.push((op.0, number));
}

/// Tells an operation's function what to call. It gets that as its fifth argument.
pub fn tell_operation(op: MPI_Op, inner: *const c_void) {
    let apart = OPERATIONS_APART.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some((_, number)) = apart.iter().find(|known| known.0 == op.0) {
        OPERATIONS.tell(*number, inner);
    }
}

/// As [`operation_for`], for one with large counts.
pub fn large_operation_for<F: ForeignAbi>(function: *const c_void) -> Option<StandIn> {
    if function.is_null() {
        return Some(StandIn::NULL);
    }
    let all = &Made::<F>::LARGE_OPERATIONS;
    let is_in_use = |number| may_call(pick(all, number) as *const c_void);
    let number = LARGE_OPERATIONS.number(function, LANGUAGE.replace(CallbackLanguage::C), is_in_use)?;
    Some(StandIn::of(all, |found| found as *const c_void, number))
}

/// What Tern calls for an error handler of the program's on objects with handles `H`.
pub fn errhandler_for<F: ForeignAbi, H: ForeignHandle>(function: *const c_void) -> Option<StandIn> {
    if function.is_null() {
        return Some(StandIn::NULL);
    }
    let number =
        ERRHANDLERS.number(function, LANGUAGE.replace(CallbackLanguage::C), is_handler_in_use::<F>)?;
    Some(StandIn::of(&Handlers::<F, H>::ALL, |found| found as *const c_void, number))
}

/// The functions of an attribute's key, and the program's state. It stays as long as the process: Tern keeps a key until
/// the last attribute of it is gone, and does not say when.
pub struct Functions {
    copy: *const c_void,
    delete: *const c_void,
    state: *mut c_void,
}

impl Functions {
    /// The state for Tern.
    pub fn kept(copy: *const c_void, delete: *const c_void, state: *mut c_void) -> *mut c_void {
        Box::into_raw(Box::new(Functions { copy, delete, state })).cast()
    }
}

/// Copies an attribute of an object with handles `H`.
///
/// # Safety
/// Tern calls it with the state of [`Functions::kept`].
pub unsafe extern "C" fn copy_attribute<F: ForeignAbi, H: ForeignHandle>(
    object: H::Inner,
    key: c_int,
    state: *mut c_void,
    value: *mut c_void,
    copied: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    type Function<H> =
        unsafe extern "C" fn(H, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int;
    // SAFETY: the state is one of `kept`, and the program gave a function of this type.
    unsafe {
        let functions = &*state.cast::<Functions>();
        let function: Function<H> = std::mem::transmute(functions.copy);
        let key = F::Keyval::outer(key);
        F::ErrorCode::inner(function(H::outer(object), key, functions.state, value, copied, flag))
    }
}

/// Deletes an attribute of an object with handles `H`.
///
/// # Safety
/// Tern calls it with the state of [`Functions::kept`].
pub unsafe extern "C" fn delete_attribute<F: ForeignAbi, H: ForeignHandle>(
    object: H::Inner,
    key: c_int,
    value: *mut c_void,
    state: *mut c_void,
) -> c_int {
    type Function<H> = unsafe extern "C" fn(H, c_int, *mut c_void, *mut c_void) -> c_int;
    // SAFETY: the state is one of `kept`, and the program gave a function of this type.
    unsafe {
        let functions = &*state.cast::<Functions>();
        let function: Function<H> = std::mem::transmute(functions.delete);
        let key = F::Keyval::outer(key);
        F::ErrorCode::inner(function(H::outer(object), key, value, functions.state))
    }
}

/// The functions of a generalized request, and the program's state.
pub struct GeneralizedFunctions {
    query: *const c_void,
    free: *const c_void,
    cancel: *const c_void,
    state: *mut c_void,
}

impl GeneralizedFunctions {
    /// The state for Tern. The request's free function ends it.
    pub fn kept(
        query: *const c_void,
        free: *const c_void,
        cancel: *const c_void,
        state: *mut c_void,
    ) -> *mut Self {
        Box::into_raw(Box::new(GeneralizedFunctions { query, free, cancel, state }))
    }
}

/// Asks how a generalized request has ended.
///
/// # Safety
/// Tern calls it with the state of [`GeneralizedFunctions::kept`].
pub unsafe extern "C" fn query_request<F: ForeignAbi>(state: *mut c_void, status: *mut MPI_Status) -> c_int {
    // SAFETY: the state is one of `kept`, and the program gave a function of this type; Tern gives a status.
    unsafe {
        let request = &*state.cast::<GeneralizedFunctions>();
        let mut outer: F::Status = std::mem::zeroed();
        outer.set(&*status);
        let code = if request.query.is_null() {
            MPI_SUCCESS
        } else {
            let query: unsafe extern "C" fn(*mut c_void, *mut F::Status) -> c_int =
                std::mem::transmute(request.query);
            F::ErrorCode::inner(query(request.state, &mut outer))
        };
        let error = (*status).MPI_ERROR;
        *status = outer.inner();
        (*status).MPI_ERROR = error;
        code
    }
}

/// Frees the program's state of a generalized request, and what was kept beside it.
///
/// # Safety
/// Tern calls it once, with the state of [`GeneralizedFunctions::kept`].
pub unsafe extern "C" fn free_request<F: ForeignAbi>(state: *mut c_void) -> c_int {
    // SAFETY: the state is one of `kept` and not used any more; the program gave a function of this type.
    unsafe {
        let request = Box::from_raw(state.cast::<GeneralizedFunctions>());
        if request.free.is_null() {
            return MPI_SUCCESS;
        }
        let free: unsafe extern "C" fn(*mut c_void) -> c_int = std::mem::transmute(request.free);
        F::ErrorCode::inner(free(request.state))
    }
}

/// Cancels a generalized request.
///
/// # Safety
/// Tern calls it with the state of [`GeneralizedFunctions::kept`].
pub unsafe extern "C" fn cancel_request<F: ForeignAbi>(state: *mut c_void, complete: c_int) -> c_int {
    // SAFETY: the state is one of `kept`, and the program gave a function of this type.
    unsafe {
        let request = &*state.cast::<GeneralizedFunctions>();
        if request.cancel.is_null() {
            return MPI_SUCCESS;
        }
        let cancel: unsafe extern "C" fn(*mut c_void, c_int) -> c_int = std::mem::transmute(request.cancel);
        F::ErrorCode::inner(cancel(request.state, complete))
    }
}

/// The functions of a data representation, and the program's state. It stays as long as the process, as the
/// representation does (section 14.5.3).
pub struct Datarep {
    read: *const c_void,
    write: *const c_void,
    extent: *const c_void,
    state: *mut c_void,
}

impl Datarep {
    /// The state for Tern.
    pub fn kept(
        read: *const c_void,
        write: *const c_void,
        extent: *const c_void,
        state: *mut c_void,
    ) -> *mut c_void {
        Box::into_raw(Box::new(Datarep { read, write, extent, state })).cast()
    }
}

/// Asks for the extent of a datatype in a file.
///
/// # Safety
/// Tern calls it with the state of [`Datarep::kept`].
pub unsafe extern "C" fn datarep_extent<F: ForeignAbi>(
    datatype: MPI_Datatype,
    extent: *mut MPI_Aint,
    state: *mut c_void,
) -> c_int {
    // SAFETY: the state is one of `kept`, and the program gave a function of this type.
    unsafe {
        let datarep = &*state.cast::<Datarep>();
        let function: unsafe extern "C" fn(F::Datatype, *mut MPI_Aint, *mut c_void) -> c_int =
            std::mem::transmute(datarep.extent);
        F::ErrorCode::inner(function(F::Datatype::outer(datatype), extent, datarep.state))
    }
}

/// A function that converts between memory and file, for counts of one width.
macro_rules! conversions {
    ($($(#[$doc:meta])* $name:ident: $which:ident, $count:ty;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// Tern calls it with the state of [`Datarep::kept`].
        pub unsafe extern "C" fn $name<F: ForeignAbi>(
            userbuf: *mut c_void,
            datatype: MPI_Datatype,
            count: $count,
            filebuf: *mut c_void,
            position: MPI_Offset,
            state: *mut c_void,
        ) -> c_int {
            type Function<H> =
                unsafe extern "C" fn(*mut c_void, H, $count, *mut c_void, MPI_Offset, *mut c_void) -> c_int;
            // SAFETY: the state is one of `kept`, and the program gave a function of this type.
            unsafe {
                let datarep = &*state.cast::<Datarep>();
                let function: Function<F::Datatype> = std::mem::transmute(datarep.$which);
                let datatype = F::Datatype::outer(datatype);
                F::ErrorCode::inner(function(userbuf, datatype, count, filebuf, position, datarep.state))
            }
        }
    )*};
}

conversions! {
    /// Converts what was read.
    datarep_read: read, c_int;
    /// Converts what is to be written.
    datarep_write: write, c_int;
    /// Converts what was read, with a large count.
    datarep_read_large: read, MPI_Count;
    /// Converts what is to be written, with a large count.
    datarep_write_large: write, MPI_Count;
}
