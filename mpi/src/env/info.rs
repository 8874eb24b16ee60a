//! Info objects (MPI 5.0 chapter 10). All of this works before `MPI_Init` and after `MPI_Finalize` (section 11.4.1).

use crate::core::arguments::{out, store_string, string};
use crate::core::entry::entry;
use crate::core::error::{Error, Result, fail};
use crate::core::handle::Kind;
use crate::core::process::{Process, enter_anyway};
use crate::core::table::Table;
use std::ffi::{CStr, c_char, c_int};
use tern_abi::*;

/// Keys and values, in the order in which they were set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// Pairs of key and value.
    pub entries: Vec<(String, String)>,
}

impl Info {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.entries.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    /// Sets a key; a known key keeps its place.
    pub fn set(&mut self, key: &str, value: &str) {
        match self.entries.iter_mut().find(|(known, _)| known == key) {
            Some((_, old)) => value.clone_into(old),
            None => self.entries.push((key.to_owned(), value.to_owned())),
        }
    }

    /// Takes a key out; whether it was there.
    pub fn delete(&mut self, key: &str) -> bool {
        let before = self.entries.len();
        self.entries.retain(|(known, _)| known != key);
        self.entries.len() < before
    }

    /// The pairs whose keys are among `known`: an implementation ignores the hints that it does not know (section 10).
    pub fn only(&self, known: &[&str]) -> Info {
        let entries = self.entries.iter().filter(|(key, _)| known.contains(&key.as_str()));
        Info { entries: entries.cloned().collect() }
    }
}

/// All info objects.
pub struct Infos {
    made: Table<Info>,
    /// `MPI_INFO_ENV`, from its first use on.
    environment: Option<Info>,
}

impl Infos {
    /// None but the predefined.
    pub const fn new() -> Self {
        Infos { made: Table::new(Kind::Info), environment: None }
    }
}

impl Process {
    /// What an info argument says; nothing for `MPI_INFO_NULL`, where a call allows that.
    pub fn hints(&mut self, info: MPI_Info) -> Result<Info> {
        if info == MPI_INFO_NULL { Ok(Info::default()) } else { self.info(info).cloned() }
    }

    /// The info object of a handle, to look at.
    pub fn info(&mut self, info: MPI_Info) -> Result<&Info> {
        if info == MPI_INFO_ENV {
            let size = self.announced_size();
            let arguments = || environment(&std::env::args().collect::<Vec<_>>(), size);
            return Ok(self.infos.environment.get_or_insert_with(arguments));
        }
        self.infos.made.get(info.0).ok_or_else(|| no_info(info))
    }

    /// Takes an info object in, for a call that returns one.
    pub fn new_info(&mut self, info: Info) -> Result<MPI_Info> {
        let handle = self.infos.made.insert(info);
        handle.map(MPI_Info).ok_or_else(|| fail(MPI_ERR_NO_MEM, "2^18 info objects exist: free some"))
    }

    fn info_mut(&mut self, info: MPI_Info) -> Result<&mut Info> {
        if info == MPI_INFO_ENV {
            return Err(fail(MPI_ERR_INFO, "MPI_INFO_ENV cannot be changed: change a duplicate of it"));
        }
        self.infos.made.get_mut(info.0).ok_or_else(|| no_info(info))
    }
}

#[cold]
fn no_info(info: MPI_Info) -> Box<Error> {
    if info == MPI_INFO_NULL {
        return fail(MPI_ERR_INFO, "the info object is MPI_INFO_NULL");
    }
    fail(MPI_ERR_INFO, format!("{:#x} is no info object: it was freed or never was one", info.0))
}

entry! {
    /// A new, empty object.
    fn MPI_Info_create(info: *mut MPI_Info) {
        *out("info", info)? = enter_anyway().new_info(Info::default())?;
        Ok(())
    }

    /// A new object with what `MPI_INFO_ENV` has, for these arguments (section 11.2.1).
    fn MPI_Info_create_env(argc: c_int, argv: *mut *mut c_char, info: *mut MPI_Info) {
        let info = out("info", info)?;
        let arguments = arguments(argc, argv);
        let mut process = enter_anyway();
        let size = process.announced_size();
        *info = process.new_info(environment(&arguments, size))?;
        Ok(())
    }

    /// Sets a key to a value.
    fn MPI_Info_set(info: MPI_Info, key: *const c_char, value: *const c_char) {
        let (key, value) = (self::key(key)?, self::value(value)?);
        enter_anyway().info_mut(info)?.set(&key, &value);
        Ok(())
    }

    /// Takes a key out.
    fn MPI_Info_delete(info: MPI_Info, key: *const c_char) {
        let key = self::key(key)?;
        if !enter_anyway().info_mut(info)?.delete(&key) {
            return Err(fail(MPI_ERR_INFO_NOKEY, format!("the info object has no key '{key}'")));
        }
        Ok(())
    }

    /// The value of a key in at most `valuelen` characters and a zero (deprecated: it cannot say how much was cut off).
    fn MPI_Info_get(info: MPI_Info, key: *const c_char, valuelen: c_int, value: *mut c_char, flag: *mut c_int) {
        let (key, flag) = (self::key(key)?, out("flag", flag)?);
        let room = usize::try_from(valuelen)
            .map_err(|_| fail(MPI_ERR_ARG, format!("valuelen is {valuelen}, but must not be negative")))?;
        let mut process = enter_anyway();
        let found = process.info(info)?.get(&key);
        if let Some(found) = found {
            store_string(out("value", value)?, found, room + 1);
        }
        *flag = c_int::from(found.is_some());
        Ok(())
    }

    /// The length of a key's value (deprecated).
    fn MPI_Info_get_valuelen(info: MPI_Info, key: *const c_char, valuelen: *mut c_int, flag: *mut c_int) {
        let (key, valuelen, flag) = (self::key(key)?, out("valuelen", valuelen)?, out("flag", flag)?);
        let mut process = enter_anyway();
        let found = process.info(info)?.get(&key);
        if let Some(found) = found {
            *valuelen = found.len() as c_int;
        }
        *flag = c_int::from(found.is_some());
        Ok(())
    }

    /// The value of a key, and how many bytes it takes with its zero; a buffer of no bytes is not touched.
    fn MPI_Info_get_string(info: MPI_Info, key: *const c_char, buflen: *mut c_int, value: *mut c_char, flag: *mut c_int) {
        let (key, buflen, flag) = (self::key(key)?, out("buflen", buflen)?, out("flag", flag)?);
        let room = usize::try_from(*buflen)
            .map_err(|_| fail(MPI_ERR_ARG, format!("*buflen is {}, but must not be negative", *buflen)))?;
        let mut process = enter_anyway();
        let found = process.info(info)?.get(&key);
        if let Some(found) = found {
            if room > 0 {
                store_string(out("value", value)?, found, room);
            }
            *buflen = found.len() as c_int + 1;
        }
        *flag = c_int::from(found.is_some());
        Ok(())
    }

    /// How many keys there are.
    fn MPI_Info_get_nkeys(info: MPI_Info, nkeys: *mut c_int) {
        *out("nkeys", nkeys)? = enter_anyway().info(info)?.entries.len() as c_int;
        Ok(())
    }

    /// The key of a number, in the order in which keys were first set.
    fn MPI_Info_get_nthkey(info: MPI_Info, n: c_int, key: *mut c_char) {
        let key = out("key", key)?;
        let mut process = enter_anyway();
        let entries = &process.info(info)?.entries;
        let (found, _) = usize::try_from(n).ok().and_then(|n| entries.get(n)).ok_or_else(|| {
            fail(MPI_ERR_ARG, format!("n is {n}, but the info object has {} keys, counted from 0", entries.len()))
        })?;
        store_string(key, found, MPI_MAX_INFO_KEY as usize);
        Ok(())
    }

    /// A copy with the same keys in the same order.
    fn MPI_Info_dup(info: MPI_Info, newinfo: *mut MPI_Info) {
        let newinfo = out("newinfo", newinfo)?;
        let mut process = enter_anyway();
        let copy = process.info(info)?.clone();
        *newinfo = process.new_info(copy)?;
        Ok(())
    }

    /// Ends an object.
    fn MPI_Info_free(info: *mut MPI_Info) {
        let info = out("info", info)?;
        let mut process = enter_anyway();
        if *info == MPI_INFO_ENV {
            return Err(fail(MPI_ERR_INFO, "MPI_INFO_ENV cannot be freed"));
        }
        process.infos.made.remove((*info).0).ok_or_else(|| no_info(*info))?;
        *info = MPI_INFO_NULL;
        Ok(())
    }
}

/// A key argument: neither empty nor longer than `MPI_MAX_INFO_KEY` has room for.
unsafe fn key<'a>(key: *const c_char) -> Result<std::borrow::Cow<'a, str>> {
    if key.is_null() {
        return Err(fail(MPI_ERR_INFO_KEY, "key is a null pointer"));
    }
    // SAFETY: by the caller.
    let key = unsafe { string("key", key)? };
    match key.len() {
        0 => Err(fail(MPI_ERR_INFO_KEY, "key is empty")),
        length if length >= MPI_MAX_INFO_KEY as usize => Err(fail(
            MPI_ERR_INFO_KEY,
            format!("key has {length} characters, but at most {} are allowed", MPI_MAX_INFO_KEY - 1),
        )),
        _ => Ok(key),
    }
}

unsafe fn value<'a>(value: *const c_char) -> Result<std::borrow::Cow<'a, str>> {
    if value.is_null() {
        return Err(fail(MPI_ERR_INFO_VALUE, "value is a null pointer"));
    }
    // SAFETY: by the caller.
    let value = unsafe { string("value", value)? };
    if value.len() >= MPI_MAX_INFO_VAL as usize {
        let text =
            format!("value has {} characters, but at most {} are allowed", value.len(), MPI_MAX_INFO_VAL - 1);
        return Err(fail(MPI_ERR_INFO_VALUE, text));
    }
    Ok(value)
}

/// The arguments that a program was given in C's form, as far as there are any.
unsafe fn arguments(argc: c_int, argv: *mut *mut c_char) -> Vec<String> {
    let count = if argv.is_null() { 0 } else { usize::try_from(argc).unwrap_or(0) };
    // SAFETY: by the caller, argv has argc elements.
    let pointers = (0..count).map(|i| unsafe { *argv.add(i) }).take_while(|pointer| !pointer.is_null());
    // SAFETY: by the caller, each is a C string.
    pointers.map(|pointer| unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()).collect()
}

/// How this program was started (section 11.2.1). `thread_level` is left out: it would be the level that was asked for
/// when the job was started, and `mpirun` has no option for that.
fn environment(arguments: &[String], size: u32) -> Info {
    let mut info = Info::default();
    let mut set = |key, value: String| info.set(key, cut(&value));
    if let Some((command, rest)) = arguments.split_first() {
        set("command", command.clone());
        set("argv", rest.join(" "));
    }
    set("maxprocs", size.to_string());
    set("soft", size.to_string());
    set("host", crate::env::inquiry::host_name());
    set("arch", std::env::consts::ARCH.to_owned());
    if let Ok(directory) = std::env::current_dir() {
        set("wdir", directory.to_string_lossy().into_owned());
    }
    info
}

/// As much of a value as an info object may hold.
fn cut(value: &str) -> &str {
    let mut end = value.len().min(MPI_MAX_INFO_VAL as usize - 1);
    while !value.is_char_boundary(end) {
        end -= 1;
    }
    &value[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_set_again_keeps_its_place() {
        let mut info = Info::default();
        info.set("a", "1");
        info.set("b", "2");
        info.set("a", "3");
        assert_eq!(info.entries, [("a".into(), "3".into()), ("b".into(), "2".into())]);
        assert!(info.delete("a") && !info.delete("a"));
        assert_eq!((info.get("b"), info.get("a")), (Some("2"), None));
    }

    #[test]
    fn a_cut_value_has_whole_characters() {
        let long = "ä".repeat(MPI_MAX_INFO_VAL as usize);
        assert_eq!(cut(&long).len(), MPI_MAX_INFO_VAL as usize - 2);
    }
}
