//! Other MPI libraries in the same process. Handles of one mean nothing to another, so a program that has two is refused
//! when it starts MPI, with the names of both.
//!
//! The library of the standard ABI asks, too: its program may have another MPI beside it as well.

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};

/// The library by which a program starts MPI.
#[derive(Clone, Copy)]
pub struct StartedLibrary {
    /// Whose ABI it has, as a sentence names it.
    pub abi: &'static str,
    /// The name of its file.
    pub file: &'static str,
}

/// The library of the standard ABI, over which the others are.
const STANDARD: &str = "libmpi_abi.so.1";

/// Beginnings of the names of libraries that are an MPI, each with whose ABI it has.
const MPI_LIBRARIES: [(&str, Whose); 7] = [
    ("libmpi.so.12", Whose::Mpich),
    ("libmpich.so.", Whose::Mpich),
    ("libmpifort.so.", Whose::Mpich),
    ("libmpichfort.so.", Whose::Mpich),
    ("libmpi.so.40", Whose::OpenMpi),
    ("libopen-pal.so.", Whose::OpenMpi),
    ("libmpi_mpifh.so.", Whose::OpenMpi),
];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Whose {
    Mpich,
    OpenMpi,
}

impl Whose {
    fn name(self) -> &'static str {
        match self {
            Whose::Mpich => "MPICH",
            Whose::OpenMpi => "Open MPI",
        }
    }
}

/// A loaded library or the program, and what it needs.
#[derive(Default)]
struct LoadedObject {
    path: String,
    needs: Vec<String>,
}

impl LoadedObject {
    fn name(&self) -> &str {
        Path::new(&self.path).file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    fn folder(&self) -> Option<&Path> {
        Path::new(&self.path).parent()
    }
}

/// What is wrong with the libraries in this process, if it starts MPI by this one.
pub fn conflict(started: StartedLibrary) -> Option<String> {
    let objects = loaded();
    match whose(started.file) {
        Some(own) => conflict_of_one(started, own, own_folder().as_deref(), &objects),
        None => conflict_of_standard(started, &objects),
    }
}

/// The folder of this library, which may have been loaded by another name of its file.
fn own_folder() -> Option<PathBuf> {
    // SAFETY: the address is one of this library's, and the answer is a place of the right size.
    let path = unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        let found = libc::dladdr(own_folder as fn() -> Option<PathBuf> as *const c_void, &mut info);
        if found == 0 { String::new() } else { text(info.dli_fname) }
    };
    Some(Path::new(&path).parent()?.to_owned())
}

/// The same for a library with the ABI of another MPI.
fn conflict_of_one(
    started: StartedLibrary,
    own: Whose,
    folder: Option<&Path>,
    objects: &[LoadedObject],
) -> Option<String> {
    let is_other = |object: &&LoadedObject| whose(object.name()).is_some_and(|found| found != own);
    if let Some(other) = objects.iter().find(is_other) {
        return Some(two_libraries(started, other));
    }
    let mixed = objects.iter().find(|object| {
        object.needs.iter().any(|need| need == STANDARD)
            && whose(object.name()).is_none()
            && object.folder() != folder
            && !object.name().starts_with("libmpifort_abi.so")
    })?;
    Some(two_abis(mixed, "libmpi_abi.so.1, of the standard ABI", started))
}

/// The same for the library of the standard ABI. Tern's libraries for programs of other MPIs are over it: one in the process
/// was loaded for a part that was built for another ABI.
fn conflict_of_standard(started: StartedLibrary, objects: &[LoadedObject]) -> Option<String> {
    let (other, found) = objects.iter().find_map(|object| Some((object, whose(object.name())?)))?;
    let mixed = objects.iter().find(|object| {
        let is_helper = whose(object.name()).is_some() || object.folder() == other.folder();
        !is_helper && object.needs.iter().any(|need| whose(need) == Some(found))
    });
    let is_above = objects
        .iter()
        .any(|object| whose(object.name()).is_some() && object.needs.iter().any(|need| need == STANDARD));
    match mixed {
        Some(mixed) if is_above => {
            let need = mixed.needs.iter().find(|need| whose(need).is_some())?;
            Some(two_abis(mixed, &format!("{need}, of {}", found.name()), started))
        }
        _ => Some(two_libraries(started, other)),
    }
}

fn two_libraries(started: StartedLibrary, other: &LoadedObject) -> String {
    format!(
        "two MPI libraries are in this process: {}, for programs built with {}, and {}. \
         Their handles mean nothing to each other: build all parts of the program with one of them",
        started.file, started.abi, other.path
    )
}

fn two_abis(mixed: &LoadedObject, linked: &str, started: StartedLibrary) -> String {
    let name = if mixed.path.is_empty() { "the program" } else { &mixed.path };
    format!(
        "this process mixes two ABIs: {name} is linked with {linked}, and something else with {}, of {}. \
         Build all parts of the program with one of them",
        started.file, started.abi
    )
}

fn whose(name: &str) -> Option<Whose> {
    MPI_LIBRARIES.iter().find(|(beginning, _)| name.starts_with(beginning)).map(|&(_, whose)| whose)
}

/// All that the loader has loaded.
fn loaded() -> Vec<LoadedObject> {
    let mut objects: Vec<LoadedObject> = Vec::new();
    // SAFETY: the function gets the address of the list, which lives through the call.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut objects).cast()) };
    objects
}

unsafe extern "C" fn note(info: *mut libc::dl_phdr_info, _: usize, objects: *mut c_void) -> c_int {
    // SAFETY: the loader describes an object that is loaded, and `loaded` passes its list.
    unsafe {
        let (info, objects) = (&*info, &mut *objects.cast::<Vec<LoadedObject>>());
        let path = text(info.dlpi_name);
        // The kernel's own library has no dynamic section that the loader has adjusted.
        if !path.starts_with("linux-vdso") {
            objects.push(LoadedObject { path: versioned(path), needs: needs(info) });
        }
    }
    0
}

/// The file that a name without a version means: whose library it is stands in its version.
fn versioned(path: String) -> String {
    if Path::new(&path).file_name() != Some(OsStr::new("libmpi.so")) {
        return path;
    }
    let file = std::fs::canonicalize(&path).ok().and_then(|file| file.into_os_string().into_string().ok());
    file.unwrap_or(path)
}

/// A tag of the dynamic section, and its value.
#[repr(C)]
struct Dynamic {
    tag: i64,
    value: usize,
}

const DT_NULL: i64 = 0;
const DT_NEEDED: i64 = 1;
const DT_STRTAB: i64 = 5;

/// The libraries that an object names as its needs.
unsafe fn needs(info: &libc::dl_phdr_info) -> Vec<String> {
    // SAFETY: the loader describes an object that is loaded: its headers, and a dynamic section that ends in a null. It
    // has made an address of the place of the names.
    unsafe {
        let headers = std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize);
        let Some(header) = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC) else {
            return Vec::new();
        };
        let mut entry = (info.dlpi_addr as usize + header.p_vaddr as usize) as *const Dynamic;
        let (mut names, mut offsets) = (0, Vec::new());
        while (*entry).tag != DT_NULL {
            match (*entry).tag {
                DT_NEEDED => offsets.push((*entry).value),
                DT_STRTAB => names = (*entry).value,
                _ => {}
            }
            entry = entry.add(1);
        }
        if names < info.dlpi_addr as usize || names == 0 {
            return Vec::new();
        }
        offsets.into_iter().map(|offset| text((names + offset) as *const c_char)).collect()
    }
}

unsafe fn text(at: *const c_char) -> String {
    if at.is_null() {
        return String::new();
    }
    // SAFETY: a text of the loader's.
    unsafe { CStr::from_ptr(at) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MPICH: StartedLibrary = StartedLibrary { abi: "MPICH", file: "libmpi.so.12" };
    const TERN: StartedLibrary = StartedLibrary { abi: "the standard ABI", file: STANDARD };

    fn of_mpich(objects: &[LoadedObject]) -> Option<String> {
        conflict_of_one(MPICH, Whose::Mpich, Some(Path::new("/t/lib/mpich")), objects)
    }

    fn object(path: &str, needs: &[&str]) -> LoadedObject {
        LoadedObject { path: path.into(), needs: needs.iter().map(|need| need.to_string()).collect() }
    }

    #[test]
    fn one_library_with_its_helpers_is_no_conflict() {
        let objects = [
            object("", &["libmpi.so.12", "libc.so.6"]),
            object("/t/lib/mpich/libmpi.so", &["libmpi_abi.so.1"]),
            object("/t/lib/mpich/libmpifort.so.12", &["libmpi.so.12", "libmpi_abi.so.1"]),
            object("/t/lib/libmpi_abi.so.1", &["libc.so.6"]),
        ];
        assert_eq!(of_mpich(&objects), None);
    }

    #[test]
    fn a_second_library_and_a_mixed_program_are_named() {
        let objects = [
            object("", &["libmpi.so.12", "libmpi_abi.so.1"]),
            object("/t/lib/mpich/libmpi.so.12", &["libmpi_abi.so.1"]),
        ];
        assert!(of_mpich(&objects).unwrap().contains("the program is linked with"));
        let objects = [object("", &["libmpi.so.12"]), object("/usr/lib/libmpi.so.40", &[])];
        assert!(of_mpich(&objects).unwrap().contains("/usr/lib/libmpi.so.40"));
    }

    #[test]
    fn a_program_of_the_standard_abi_alone_is_no_conflict() {
        let objects = [
            object("", &["libmpi_abi.so.1", "libmpifort_abi.so.1"]),
            object("/t/lib/libmpi_abi.so.1", &["libc.so.6"]),
            object("/t/lib/libmpifort_abi.so.1", &["libmpi_abi.so.1"]),
        ];
        assert_eq!(conflict_of_standard(TERN, &objects), None);
    }

    #[test]
    fn a_part_for_another_abi_is_named_and_so_is_a_second_mpi() {
        let mut objects = vec![
            object("", &["libmpi_abi.so.1", "libinner.so"]),
            object("/a/libinner.so", &["libc.so.6", "libmpi_mpifh.so.40", "libmpi.so.40"]),
            object("/t/lib/openmpi/libmpi_usempif08.so.40", &["libmpi.so.40"]),
            object("/t/lib/openmpi/libmpi.so.40", &["libmpi_abi.so.1"]),
        ];
        let said = conflict_of_standard(TERN, &objects).unwrap();
        assert!(said.contains("/a/libinner.so is linked with libmpi_mpifh.so.40, of Open MPI"), "{said}");
        objects[3] = object("/usr/lib/libmpi.so.40", &["libopen-pal.so.40"]);
        let said = conflict_of_standard(TERN, &objects).unwrap();
        assert!(said.contains("with the standard ABI, and /usr/lib/libmpi.so.40"), "{said}");
    }

    #[test]
    fn this_process_has_its_program_and_the_c_library() {
        let objects = loaded();
        assert!(objects.iter().any(|object| object.name().starts_with("libc.so")), "the C library is loaded");
        assert!(objects[0].needs.iter().any(|need| need.starts_with("libc.so")), "{:?}", objects[0].needs);
    }
}
