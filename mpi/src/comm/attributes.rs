//! Attributes cached on communicators, datatypes and windows (MPI 5.0 section 7.7).
//!
//! The program's copy and delete functions are called without the process's state in hand, since they may call MPI.

use crate::comm::attribute_keys::{AttributeKeys, Keyval, Keyvals};
use crate::comm::attribute_values::{Attribute, AttributeValue, Attributes};
use crate::core::boundary::{Argument, Out};
use crate::core::entry::entry;
use crate::core::error::{Error, Result, fail};
use crate::core::process::{Process, enter};
use crate::env::raise::callback_failed;
use crate::limits::TAG_UB;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, Ordering};
use tern_abi::*;

/// Attributes that the end of one object deletes, those included that delete functions set meanwhile.
const ATTRIBUTES_DELETED_MAX: u32 = 100_000;

/// The place for a value: C's declaration says `void *` of what is a pointer to the program's pointer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AttributePlace<'a>(Out<'a, *mut c_void>);

impl Argument for AttributePlace<'_> {
    type C = *mut c_void;

    unsafe fn from_c(name: &'static str, c: *mut c_void) -> Result<Self> {
        // SAFETY: the same contract.
        unsafe { Out::from_c(name, c.cast()) }.map(AttributePlace)
    }
}

/// Something that has attributes.
pub(crate) trait Holder: Copy {
    /// What it is called.
    const NAME: &'static str;
    /// The keys for its kind.
    fn keys(keyvals: &mut Keyvals) -> &mut AttributeKeys<Self>;
    /// Its attributes.
    fn attributes(self, process: &mut Process) -> Result<&mut Attributes>;
}

impl Holder for MPI_Comm {
    const NAME: &'static str = "communicators";

    fn keys(keyvals: &mut Keyvals) -> &mut AttributeKeys<Self> {
        &mut keyvals.comms
    }

    fn attributes(self, process: &mut Process) -> Result<&mut Attributes> {
        Ok(&mut process.comm_mut(self)?.attributes)
    }
}

impl Holder for MPI_Datatype {
    const NAME: &'static str = "datatypes";

    fn keys(keyvals: &mut Keyvals) -> &mut AttributeKeys<Self> {
        &mut keyvals.types
    }

    fn attributes(self, process: &mut Process) -> Result<&mut Attributes> {
        Ok(&mut process.objects.types.object_mut(self)?.attributes)
    }
}

impl Holder for MPI_Win {
    const NAME: &'static str = "windows";

    fn keys(keyvals: &mut Keyvals) -> &mut AttributeKeys<Self> {
        &mut keyvals.windows
    }

    fn attributes(self, process: &mut Process) -> Result<&mut Attributes> {
        Ok(&mut process.window_mut(self)?.attributes)
    }
}

entry! {
    /// A key for communicators (section 7.7.2).
    safe fn MPI_Comm_create_keyval(
        comm_copy_attr_fn: Option<MPI_Comm_copy_attr_function>,
        comm_delete_attr_fn: Option<MPI_Comm_delete_attr_function>, comm_keyval: Out<'_, c_int>, extra_state: *mut c_void,
    ) {
        comm_keyval.set(create_key(comm_copy_attr_fn, comm_delete_attr_fn, extra_state)?);
        Ok(())
    }

    /// Ends a key for communicators.
    safe fn MPI_Comm_free_keyval(comm_keyval: &mut c_int) {
        free_key::<MPI_Comm>(comm_keyval)
    }

    /// Sets an attribute of a communicator; an old value is deleted first.
    safe fn MPI_Comm_set_attr(comm: MPI_Comm, comm_keyval: c_int, attribute_val: *mut c_void) on comm {
        set(comm, comm_keyval, AttributeValue(attribute_val))
    }

    /// Finds an attribute of a communicator.
    safe fn MPI_Comm_get_attr(comm: MPI_Comm, comm_keyval: c_int, attribute_val: AttributePlace<'_>, flag: Out<'_, c_int>) on comm {
        get_from_comm(comm, comm_keyval, attribute_val, flag)
    }

    /// Deletes an attribute of a communicator.
    safe fn MPI_Comm_delete_attr(comm: MPI_Comm, comm_keyval: c_int) on comm {
        delete(comm, comm_keyval)
    }

    /// A key for datatypes (section 7.7.4).
    safe fn MPI_Type_create_keyval(
        type_copy_attr_fn: Option<MPI_Type_copy_attr_function>,
        type_delete_attr_fn: Option<MPI_Type_delete_attr_function>, type_keyval: Out<'_, c_int>, extra_state: *mut c_void,
    ) {
        type_keyval.set(create_key(type_copy_attr_fn, type_delete_attr_fn, extra_state)?);
        Ok(())
    }

    /// Ends a key for datatypes.
    safe fn MPI_Type_free_keyval(type_keyval: &mut c_int) {
        free_key::<MPI_Datatype>(type_keyval)
    }

    /// Sets an attribute of a datatype.
    safe fn MPI_Type_set_attr(datatype: MPI_Datatype, type_keyval: c_int, attribute_val: *mut c_void) {
        set(datatype, type_keyval, AttributeValue(attribute_val))
    }

    /// Finds an attribute of a datatype.
    safe fn MPI_Type_get_attr(datatype: MPI_Datatype, type_keyval: c_int, attribute_val: AttributePlace<'_>, flag: Out<'_, c_int>) {
        store(get(datatype, type_keyval)?, attribute_val, flag)
    }

    /// Deletes an attribute of a datatype.
    safe fn MPI_Type_delete_attr(datatype: MPI_Datatype, type_keyval: c_int) {
        delete(datatype, type_keyval)
    }
}

entry! {
    /// A key for windows (section 7.7.3).
    safe fn MPI_Win_create_keyval(
        win_copy_attr_fn: Option<MPI_Win_copy_attr_function>,
        win_delete_attr_fn: Option<MPI_Win_delete_attr_function>, win_keyval: Out<'_, c_int>,
        extra_state: *mut c_void,
    ) {
        win_keyval.set(create_key(win_copy_attr_fn, win_delete_attr_fn, extra_state)?);
        Ok(())
    }

    /// Ends a key for windows.
    safe fn MPI_Win_free_keyval(win_keyval: &mut c_int) {
        free_key::<MPI_Win>(win_keyval)
    }

    /// Sets an attribute of a window.
    safe fn MPI_Win_set_attr(win: MPI_Win, win_keyval: c_int, attribute_val: *mut c_void) on win {
        set(win, win_keyval, AttributeValue(attribute_val))
    }

    /// Finds an attribute of a window; the predefined ones are of section 12.2.6.
    safe fn MPI_Win_get_attr(win: MPI_Win, win_keyval: c_int, attribute_val: AttributePlace<'_>, flag: Out<'_, c_int>) on win {
        let predefined = enter().window(win)?.predefined(win_keyval)?;
        let found = match predefined {
            Some(value) => Some(AttributeValue(value)),
            None => get(win, win_keyval)?,
        };
        store(found, attribute_val, flag)
    }

    /// Deletes an attribute of a window.
    safe fn MPI_Win_delete_attr(win: MPI_Win, win_keyval: c_int) on win {
        delete(win, win_keyval)
    }
}

// The names of MPI-1 (deprecated).
entry! {
    /// The old name of `MPI_Comm_create_keyval`.
    safe fn MPI_Keyval_create(
        copy_fn: Option<MPI_Copy_function>, delete_fn: Option<MPI_Delete_function>, keyval: Out<'_, c_int>,
        extra_state: *mut c_void,
    ) {
        keyval.set(create_key(copy_fn, delete_fn, extra_state)?);
        Ok(())
    }

    /// The old name of `MPI_Comm_free_keyval`.
    safe fn MPI_Keyval_free(keyval: &mut c_int) {
        free_key::<MPI_Comm>(keyval)
    }

    /// The old name of `MPI_Comm_set_attr`.
    safe fn MPI_Attr_put(comm: MPI_Comm, keyval: c_int, attribute_val: *mut c_void) on comm {
        set(comm, keyval, AttributeValue(attribute_val))
    }

    /// The old name of `MPI_Comm_get_attr`.
    safe fn MPI_Attr_get(comm: MPI_Comm, keyval: c_int, attribute_val: AttributePlace<'_>, flag: Out<'_, c_int>) on comm {
        get_from_comm(comm, keyval, attribute_val, flag)
    }

    /// The old name of `MPI_Comm_delete_attr`.
    safe fn MPI_Attr_delete(comm: MPI_Comm, keyval: c_int) on comm {
        delete(comm, keyval)
    }
}

fn create_key<Object: Holder>(
    copy: Option<CopyAttr<Object>>,
    delete: Option<DeleteAttr<Object>>,
    extra_state: *mut c_void,
) -> Result<c_int> {
    let mut process = enter();
    process.engine()?;
    let keyvals = &mut process.objects.keyvals;
    let full = || fail(MPI_ERR_NO_MEM, "all 2^31 attribute keys have been used");
    keyvals.last = keyvals.last.checked_add(1).ok_or_else(full)?;
    let key = keyvals.last;
    let keyval = Keyval { copy, delete, extra_state, uses: 0, freed: false };
    Object::keys(keyvals).0.insert(key, keyval);
    Ok(key)
}

fn free_key<Object: Holder>(key: &mut c_int) -> Result {
    let mut process = enter();
    let keys = Object::keys(&mut process.objects.keyvals);
    let keyval = keys.0.get_mut(key).filter(|keyval| !keyval.freed).ok_or_else(|| no_key::<Object>(*key))?;
    keyval.freed = true;
    if keyval.uses == 0 {
        keys.0.remove(key);
    }
    *key = MPI_KEYVAL_INVALID;
    Ok(())
}

fn set<Object: Holder>(object: Object, key: c_int, value: AttributeValue) -> Result {
    let old = {
        let mut process = enter();
        let old = object.attributes(&mut process)?.get(key);
        if keyval_of::<Object>(&mut process, key)?.freed {
            return Err(no_key::<Object>(key));
        }
        old
    };
    if let Some(old) = old {
        delete_value(object, key, old)?;
    }
    let mut process = enter();
    object.attributes(&mut process)?.push(key, value);
    Object::keys(&mut process.objects.keyvals).retain(key);
    Ok(())
}

fn get<Object: Holder>(object: Object, key: c_int) -> Result<Option<AttributeValue>> {
    let mut process = enter();
    let value = object.attributes(&mut process)?.get(key);
    keyval_of::<Object>(&mut process, key)?;
    Ok(value)
}

fn delete<Object: Holder>(object: Object, key: c_int) -> Result {
    match get(object, key)? {
        Some(value) => delete_value(object, key, value),
        None => Err(fail(MPI_ERR_KEYVAL, format!("the object has no attribute with key {key}"))),
    }
}

/// Asks the program to delete a value, then takes it out. If the program refuses, it stays.
fn delete_value<Object: Holder>(object: Object, key: c_int, value: AttributeValue) -> Result {
    let keyval = keyval_of::<Object>(&mut enter(), key)?;
    if let Some(function) = keyval.delete {
        // SAFETY: the program gave this function for objects of this kind.
        let code = call_back(object, key, || unsafe { function(object, key, value.0, keyval.extra_state) })?;
        if code != MPI_SUCCESS {
            return Err(callback_failed(code, "the attribute's delete function"));
        }
    }
    let mut process = enter();
    if object.attributes(&mut process)?.remove(key) {
        Object::keys(&mut process.objects.keyvals).release(key);
    }
    Ok(())
}

/// The attributes that a duplicate of a communicator has, by the copy functions of their keys.
pub(crate) fn copy_all(from: MPI_Comm) -> Result<Attributes> {
    copy(from)
}

/// Deletes all attributes of a communicator, by the functions of their keys.
pub(crate) fn delete_all(comm: MPI_Comm) -> Result {
    delete_last_to_first(comm).map_err(|error| error.at(comm))
}

/// The attributes that a duplicate of a datatype has.
pub(crate) fn copy_type(from: MPI_Datatype) -> Result<Attributes> {
    copy(from)
}

/// Deletes all attributes of a window.
pub(crate) fn delete_window(win: MPI_Win) -> Result {
    delete_last_to_first(win)
}

/// Deletes all attributes of a datatype.
pub(crate) fn delete_type(datatype: MPI_Datatype) -> Result {
    delete_last_to_first(datatype)
}

fn copy<Object: Holder>(from: Object) -> Result<Attributes> {
    let old = from.attributes(&mut enter())?.clone();
    let mut new = Attributes::default();
    for &Attribute { key, value, .. } in &old.values {
        match copy_value(from, key, value) {
            Ok(None) => {}
            Ok(Some(value)) => {
                new.push(key, value);
                Object::keys(&mut enter().objects.keyvals).retain(key);
            }
            Err(error) => {
                // There is no object to delete these from; their keys must not stay in use for ever.
                let release = |copy: &Attribute| Object::keys(&mut enter().objects.keyvals).release(copy.key);
                new.values.iter().for_each(release);
                return Err(error);
            }
        }
    }
    Ok(new)
}

fn copy_value<Object: Holder>(
    from: Object,
    key: c_int,
    value: AttributeValue,
) -> Result<Option<AttributeValue>> {
    let keyval = keyval_of::<Object>(&mut enter(), key)?;
    let function = match copy_rule(keyval.copy) {
        CopyRule::Never => return Ok(None),
        CopyRule::Always => return Ok(Some(value)),
        CopyRule::Ask(function) => function,
    };
    let (mut copy, mut flag) = (null_mut::<c_void>(), 0);
    // SAFETY: the program gave this function for objects of this kind; the places for its results live through the call.
    let call =
        || unsafe { function(from, key, keyval.extra_state, value.0, (&raw mut copy).cast(), &mut flag) };
    let code = call_back(from, key, call)?;
    if code != MPI_SUCCESS {
        return Err(callback_failed(code, "the attribute's copy function"));
    }
    Ok((flag != 0).then_some(AttributeValue(copy)))
}

/// The last that was set is the first to go (section 11.2.4). A delete function may set others, but not for ever.
fn delete_last_to_first<Object: Holder>(object: Object) -> Result {
    for _ in 0..ATTRIBUTES_DELETED_MAX {
        let last = object.attributes(&mut enter())?.values.last().copied();
        let Some(Attribute { key, value, .. }) = last else { return Ok(()) };
        delete_value(object, key, value)?;
    }
    Err(fail(
        MPI_ERR_OTHER,
        format!(
            "{ATTRIBUTES_DELETED_MAX} attributes have been deleted and there are still some: a delete function sets new ones \
             each time that it is called"
        ),
    ))
}

/// Calls a copy or delete function, which may call MPI, but not come back to itself without end.
fn call_back<Object: Holder>(object: Object, key: c_int, call: impl FnOnce() -> c_int) -> Result<c_int> {
    object.attributes(&mut enter())?.begin_call(key)?;
    let code = call();
    // The function may have freed the object.
    if let Ok(attributes) = object.attributes(&mut enter()) {
        attributes.end_call(key);
    }
    Ok(code)
}

fn get_from_comm(
    comm: MPI_Comm,
    key: c_int,
    attribute_val: AttributePlace<'_>,
    flag: Out<'_, c_int>,
) -> Result {
    let found = match predefined(key) {
        Some(place) => {
            let mut process = enter();
            process.comm(comm)?;
            refresh(&mut process, key).then(|| AttributeValue(place.as_ptr().cast()))
        }
        None => get(comm, key)?,
    };
    store(found, attribute_val, flag)
}

fn store(found: Option<AttributeValue>, attribute_val: AttributePlace<'_>, flag: Out<'_, c_int>) -> Result {
    if let Some(value) = found {
        attribute_val.0.set(value.0);
    }
    flag.set(c_int::from(found.is_some()));
    Ok(())
}

/// The predefined attributes are pointers to integers (section 9.1.2), which must stay where they are.
fn predefined(key: c_int) -> Option<&'static AtomicI32> {
    static TAG_MAX: AtomicI32 = AtomicI32::new(TAG_UB);
    static IO: AtomicI32 = AtomicI32::new(MPI_ANY_SOURCE);
    static HOST: AtomicI32 = AtomicI32::new(MPI_PROC_NULL);
    static WTIME_IS_GLOBAL: AtomicI32 = AtomicI32::new(1);
    static APPNUM: AtomicI32 = AtomicI32::new(0);
    static UNIVERSE_SIZE: AtomicI32 = AtomicI32::new(0);
    static LAST_USED_CODE: AtomicI32 = AtomicI32::new(MPI_ERR_LASTCODE);
    Some(match key {
        MPI_TAG_UB => &TAG_MAX,
        MPI_IO => &IO,
        MPI_HOST => &HOST,
        MPI_WTIME_IS_GLOBAL => &WTIME_IS_GLOBAL,
        MPI_APPNUM => &APPNUM,
        MPI_UNIVERSE_SIZE => &UNIVERSE_SIZE,
        MPI_LASTUSEDCODE => &LAST_USED_CODE,
        _ => return None,
    })
}

/// Brings a predefined attribute up to date; whether it has a value.
fn refresh(process: &mut Process, key: c_int) -> bool {
    let job = process.job.as_ref();
    let value = match key {
        MPI_APPNUM => job.and_then(|job| job.appnum()).map(|number| number as c_int),
        MPI_UNIVERSE_SIZE => job.map(|job| job.universe_size() as c_int),
        // Ranks of one host read the same clock; those of hosts count from when these were started.
        MPI_WTIME_IS_GLOBAL => job.map(|job| c_int::from(job.hosts == 1)),
        MPI_LASTUSEDCODE => Some(process.objects.errors.last_used()),
        _ => return true,
    };
    if let (Some(place), Some(value)) = (predefined(key), value) {
        place.store(value, Ordering::Relaxed);
    }
    value.is_some()
}

/// Tells the program's pointers to `MPI_LASTUSEDCODE` that classes or codes were added or removed.
pub(crate) fn last_used_code_changed(process: &mut Process) {
    refresh(process, MPI_LASTUSEDCODE);
}

fn keyval_of<Object: Holder>(process: &mut Process, key: c_int) -> Result<Keyval<Object>> {
    Object::keys(&mut process.objects.keyvals).find(key).ok_or_else(|| no_key::<Object>(key))
}

#[cold]
fn no_key<Object: Holder>(key: c_int) -> Box<Error> {
    let known = KEYVAL_NAMES.iter().find(|(value, _)| *value == key);
    let text = match known {
        Some((MPI_KEYVAL_INVALID, name)) => format!("the key is {name}"),
        Some((_, name)) => {
            format!("{name} is predefined: it can only be looked at, on communicators or windows")
        }
        None => format!("{key} is no attribute key for {}: it was freed or never was one", Object::NAME),
    };
    fail(MPI_ERR_KEYVAL, text)
}
