//! Info objects (MPI 5.0 chapter 10). All of this works before `MPI_Init` and after `MPI_Finalize` (section 11.4.1).

mod object;

pub(crate) use object::Infos;

use crate::core::boundary::{Argument, Out, OutText};
use crate::core::entry::entry;
use crate::core::error::{Error, Result, fail};
use crate::core::given;
use crate::core::process::{Process, enter_anyway};
use crate::env::hints::Info;
use std::borrow::Cow;
use std::ffi::{CStr, c_char, c_int};
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt;
use tern_abi::*;
use tern_job::text;

impl Process {
    /// What an info argument says; nothing for `MPI_INFO_NULL`, where a call allows that.
    pub(crate) fn hints(&mut self, info: MPI_Info) -> Result<Info> {
        if info == MPI_INFO_NULL { Ok(Info::default()) } else { self.info(info).cloned() }
    }

    /// The info object of a handle, to look at.
    pub(crate) fn info(&mut self, info: MPI_Info) -> Result<&Info> {
        if info == MPI_INFO_ENV {
            let size = self.announced_size();
            let arguments = || environment(&own_arguments(), size);
            return Ok(self.objects.infos.environment.get_or_insert_with(arguments));
        }
        self.objects.infos.made.get(info.0).ok_or_else(|| no_info(info))
    }

    /// Takes an info object in, for a call that returns one.
    pub(crate) fn new_info(&mut self, info: Info) -> Result<MPI_Info> {
        let handle = self.objects.infos.made.insert(info);
        handle.map(MPI_Info).ok_or_else(|| fail(MPI_ERR_NO_MEM, "2^18 info objects exist: free some"))
    }

    /// The same, to change it.
    pub(crate) fn info_mut(&mut self, info: MPI_Info) -> Result<&mut Info> {
        if info == MPI_INFO_ENV {
            return Err(fail(MPI_ERR_INFO, "MPI_INFO_ENV cannot be changed: change a duplicate of it"));
        }
        self.objects.infos.made.get_mut(info.0).ok_or_else(|| no_info(info))
    }
}

#[cold]
fn no_info(info: MPI_Info) -> Box<Error> {
    if info == MPI_INFO_NULL {
        return fail(MPI_ERR_INFO, "the info object is MPI_INFO_NULL");
    }
    fail(
        MPI_ERR_INFO,
        format!("{:#x} is no info object: it was freed or never was one", given::handle(info.0)),
    )
}

entry! {
    /// Makes an empty info object.
    safe fn MPI_Info_create(info: Out<'_, MPI_Info>) {
        info.set(enter_anyway().new_info(Info::default())?);
        Ok(())
    }

    /// A new info object with what `MPI_INFO_ENV` has, for these arguments (section 11.2.1).
    safe fn MPI_Info_create_env(argc: c_int, argv: Arguments<'_>, info: Out<'_, MPI_Info>) {
        let arguments = argv.of(argc);
        let mut process = enter_anyway();
        let size = process.announced_size();
        info.set(process.new_info(environment(&arguments, size))?);
        Ok(())
    }

    /// Sets a key of an info object to a value.
    safe fn MPI_Info_set(info: MPI_Info, key: Option<Cow<'_, str>>, value: Option<Cow<'_, str>>) {
        let (key, value) = (self::key(key)?, self::value(value)?);
        enter_anyway().info_mut(info)?.set(&key, &value);
        Ok(())
    }

    /// Takes a key out of an info object.
    safe fn MPI_Info_delete(info: MPI_Info, key: Option<Cow<'_, str>>) {
        let key = self::key(key)?;
        if !enter_anyway().info_mut(info)?.delete(&key) {
            return Err(fail(MPI_ERR_INFO_NOKEY, format!("the info object has no key '{key}'")));
        }
        Ok(())
    }

    /// The value of a key in at most `valuelen` characters and a zero (deprecated: it cannot say how much was cut off).
    safe fn MPI_Info_get(info: MPI_Info, key: Option<Cow<'_, str>>, valuelen: c_int, value: Option<OutText<'_>>, flag: Out<'_, c_int>) {
        let key = self::key(key)?;
        let room = usize::try_from(valuelen)
            .map_err(|_| fail(MPI_ERR_ARG, format!("valuelen is {valuelen}, but must not be negative")))?;
        let mut process = enter_anyway();
        let found = process.info(info)?.get(&key);
        if let Some(found) = found {
            given(value)?.store(found, room + 1);
        }
        flag.set(c_int::from(found.is_some()));
        Ok(())
    }

    /// The length of a key's value (deprecated).
    safe fn MPI_Info_get_valuelen(info: MPI_Info, key: Option<Cow<'_, str>>, valuelen: Out<'_, c_int>, flag: Out<'_, c_int>) {
        let key = self::key(key)?;
        let mut process = enter_anyway();
        let found = process.info(info)?.get(&key);
        if let Some(found) = found {
            valuelen.set(text::to_bytes(found).len() as c_int);
        }
        flag.set(c_int::from(found.is_some()));
        Ok(())
    }

    /// The value of a key, and how many bytes it takes with its zero; a buffer of no bytes is not touched.
    safe fn MPI_Info_get_string(info: MPI_Info, key: Option<Cow<'_, str>>, buflen: &mut c_int, value: Option<OutText<'_>>, flag: Out<'_, c_int>) {
        let key = self::key(key)?;
        let room = usize::try_from(*buflen)
            .map_err(|_| fail(MPI_ERR_ARG, format!("*buflen is {}, but must not be negative", *buflen)))?;
        let mut process = enter_anyway();
        let found = process.info(info)?.get(&key);
        if let Some(found) = found {
            if room > 0 {
                given(value)?.store(found, room);
            }
            *buflen = text::to_bytes(found).len() as c_int + 1;
        }
        flag.set(c_int::from(found.is_some()));
        Ok(())
    }

    /// The number of keys in an info object.
    safe fn MPI_Info_get_nkeys(info: MPI_Info, nkeys: Out<'_, c_int>) {
        nkeys.set(enter_anyway().info(info)?.entries.len() as c_int);
        Ok(())
    }

    /// The key of a number, in the order in which keys were first set.
    safe fn MPI_Info_get_nthkey(info: MPI_Info, n: c_int, key: OutText<'_>) {
        let mut process = enter_anyway();
        let entries = &process.info(info)?.entries;
        let (found, _) = usize::try_from(n).ok().and_then(|n| entries.get(n)).ok_or_else(|| {
            fail(MPI_ERR_ARG, format!("n is {n}, but the info object has {} keys, counted from 0", entries.len()))
        })?;
        key.store(found, MPI_MAX_INFO_KEY as usize);
        Ok(())
    }

    /// A copy of an info object, with the same keys in the same order.
    safe fn MPI_Info_dup(info: MPI_Info, newinfo: Out<'_, MPI_Info>) {
        let mut process = enter_anyway();
        let copy = process.info(info)?.clone();
        newinfo.set(process.new_info(copy)?);
        Ok(())
    }

    /// Frees an info object.
    safe fn MPI_Info_free(info: &mut MPI_Info) {
        let mut process = enter_anyway();
        if *info == MPI_INFO_ENV {
            return Err(fail(MPI_ERR_INFO, "MPI_INFO_ENV cannot be freed"));
        }
        process.objects.infos.made.remove(info.0).ok_or_else(|| no_info(*info))?;
        *info = MPI_INFO_NULL;
        Ok(())
    }
}

/// A key argument: neither empty nor longer than `MPI_MAX_INFO_KEY` has room for.
fn key(key: Option<Cow<'_, str>>) -> Result<Cow<'_, str>> {
    let key = key.ok_or_else(|| fail(MPI_ERR_INFO_KEY, "key is a null pointer"))?;
    match text::to_bytes(&key).len() {
        0 => Err(fail(MPI_ERR_INFO_KEY, "key is empty")),
        length if length >= MPI_MAX_INFO_KEY as usize => Err(fail(
            MPI_ERR_INFO_KEY,
            format!("key has {length} characters, but at most {} are allowed", MPI_MAX_INFO_KEY - 1),
        )),
        _ => Ok(key),
    }
}

/// Where a value goes, once there is one.
fn given(value: Option<OutText<'_>>) -> Result<OutText<'_>> {
    value.ok_or_else(|| fail(MPI_ERR_ARG, "value is a null pointer"))
}

fn value(value: Option<Cow<'_, str>>) -> Result<Cow<'_, str>> {
    let value = value.ok_or_else(|| fail(MPI_ERR_INFO_VALUE, "value is a null pointer"))?;
    let length = text::to_bytes(&value).len();
    if length >= MPI_MAX_INFO_VAL as usize {
        let text = format!("value has {length} characters, but at most {} are allowed", MPI_MAX_INFO_VAL - 1);
        return Err(fail(MPI_ERR_INFO_VALUE, text));
    }
    Ok(value)
}

/// The arguments that a program was given in C's form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arguments<'a> {
    start: *mut *mut c_char,
    call: PhantomData<&'a CStr>,
}

impl Arguments<'_> {
    /// `argc` of them, as far as there are any.
    fn of(self, argc: c_int) -> Vec<String> {
        let count = if self.start.is_null() { 0 } else { usize::try_from(argc).unwrap_or(0) };
        // SAFETY: by `Argument::from_c`, there are argc elements.
        let pointers =
            (0..count).map(|i| unsafe { *self.start.add(i) }).take_while(|pointer| !pointer.is_null());
        // SAFETY: by `Argument::from_c`, each is a C string.
        pointers
            .map(|pointer| text::from_bytes(unsafe { CStr::from_ptr(pointer) }.to_bytes()).into_owned())
            .collect()
    }
}

impl Argument for Arguments<'_> {
    type C = *mut *mut c_char;

    unsafe fn from_c(_: &'static str, start: *mut *mut c_char) -> Result<Self> {
        Ok(Arguments { start, call: PhantomData })
    }
}

/// Those of this program.
fn own_arguments() -> Vec<String> {
    std::env::args_os().map(|argument| text::from_bytes(argument.as_bytes()).into_owned()).collect()
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
    let kinds = crate::env::memory_kinds::of_world();
    if !kinds.is_empty() {
        set(crate::env::memory_kinds::KEY, kinds);
    }
    if let Ok(directory) = std::env::current_dir() {
        set("wdir", text::from_bytes(directory.as_os_str().as_bytes()).into_owned());
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
