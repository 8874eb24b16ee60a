//! Opening, closing and deleting files (MPI 5.0 sections 14.2.1 to 14.2.3).

use super::datarep::Representation;

use super::agreement::{agree, expect_same};
use super::facts::FileFacts;
use super::fault::of_system;
use super::manage::sync;
use super::object::{DirectAccess, File, FileView, LockedAccesses};
use super::pointer_place::SharedPointer;
use super::serve;
use super::shared_pointer::PointerOffer;
use super::together::{PoolOffer, Together};
use crate::coll::met;
use crate::comm::agree::Participants;
use crate::comm::make::child_context;
use crate::comm::object::Comm;
use crate::core::boundary::Handed;
use crate::core::entry::entry;
use crate::core::error::{Error, ErrorObject, Result, fail};
use crate::core::process::enter;
use crate::env::hints::Info;
use std::borrow::Cow;
use std::ffi::c_int;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use tern_abi::*;
use tern_io::{FileSystem, Hints, PosixFile, View, filesystem};
use tern_job::text;
use tern_mem::Datatype;
use tern_mem::basic::Basic;

entry! {
    /// Opens a file; all ranks of the communicator call.
    safe fn MPI_File_open(
        comm: MPI_Comm, filename: Result<Cow<'_, str>>, amode: c_int, info: MPI_Info, fh: Result<Handed<'_, MPI_File>>,
    ) on MPI_FILE_NULL {
        let arguments = fh.and_then(|fh| {
            let wanted = OpenArguments { path: path(&filename?)?, amode: checked(amode)?, info: enter().hints(info)? };
            Ok((fh, wanted))
        });
        let own = own_comm(comm)?;
        let opened = open(own, arguments);
        if opened.is_err() {
            enter().remove_own_comm(own);
        }
        let (fh, opened) = opened?;
        fh.set(opened);
        Ok(())
    }

    /// Closes a file, when all ranks have called.
    safe fn MPI_File_close(fh: &mut MPI_File) on (named(fh)) {
        let (facts, split) = {
            let process = enter();
            let file = process.file(*fh)?;
            (file.facts.clone(), file.split.as_ref().map(|split| split.began))
        };
        let ready = match split {
            None => facts.expect_idle(),
            Some(began) => Err(fail(MPI_ERR_OTHER, format!("{began} was called, and its end was not"))),
        };
        let ready = met("MPI_File_close", enter_comm(*fh)?, Ok(ready))?;
        let participants = facts.participants("MPI_File_close");
        agree(&participants, ready, &[])?;
        let outcome = last_act(&facts, &participants);
        // The file is closed, even if it could not be deleted or written.
        free(*fh);
        *fh = MPI_FILE_NULL;
        outcome
    }

    /// Deletes a file; one process calls.
    safe fn MPI_File_delete(filename: Cow<'_, str>, info: MPI_Info) on MPI_FILE_NULL {
        let path = path(&filename)?;
        enter().hints(info)?;
        enter().engine()?;
        remove(Path::new(&text::to_os_string(&path)))
    }
}

/// What is done with a file that nobody uses any more. On one host's own file system that is nothing, unless the file is deleted.
fn last_act(facts: &FileFacts, participants: &Participants) -> Result {
    let deletes = facts.amode & MPI_MODE_DELETE_ON_CLOSE != 0;
    if !deletes && facts.is_on_one_host() && facts.filesystem != FileSystem::Nfs {
        return Ok(());
    }
    let last = if deletes && facts.me == 0 { remove(&facts.place) } else { told_by_server(facts) };
    agree(participants, last, &[]).map(|_| ())
}

/// An NFS server may refuse data long after they were written; the system would tell it when the file is closed, where nobody listens.
fn told_by_server(facts: &FileFacts) -> Result {
    if facts.filesystem == FileSystem::Nfs && facts.amode & MPI_MODE_DELETE_ON_CLOSE == 0 {
        return sync(facts);
    }
    Ok(())
}

fn remove(path: &Path) -> Result {
    std::fs::remove_file(path).map_err(|error| match error.raw_os_error() {
        // What Linux says of a directory is what POSIX says of no permission.
        Some(libc::EISDIR) => fail(MPI_ERR_BAD_FILE, format!("'{}' is a directory", path.display())),
        _ => of_system(&error, &path.to_string_lossy()),
    })
}

/// What a rank wants.
struct OpenArguments {
    path: String,
    amode: c_int,
    info: Info,
}

impl OpenArguments {
    /// The path as the system wants it.
    fn place(&self) -> PathBuf {
        text::to_os_string(&self.path).into()
    }
}

/// The file that a call was to close, whose error handler decides.
///
/// # Safety
/// What `fh` points to, unless it is null, can be read.
unsafe fn named(fh: *mut MPI_File) -> ErrorObject {
    // SAFETY: the caller's promise.
    unsafe { fh.as_ref() }.map_or(ErrorObject::File(MPI_FILE_NULL), |fh| ErrorObject::File(*fh))
}

fn enter_comm(fh: MPI_File) -> Result<MPI_Comm> {
    Ok(enter().file(fh)?.comm)
}

/// Prefixes by which users of ROMIO name a file system; it is recognized here without.
const PREFIXES: [&str; 9] =
    ["ufs:", "nfs:", "lustre:", "gpfs:", "panfs:", "xfs:", "pvfs2:", "bglockless:", "testfs:"];

/// The path of a file name.
fn path(given: &str) -> Result<String> {
    let path = PREFIXES.iter().find_map(|prefix| given.strip_prefix(prefix)).unwrap_or(given);
    if path.is_empty() {
        return Err(fail(MPI_ERR_BAD_FILE, "filename is empty"));
    }
    Ok(path.to_owned())
}

fn checked(amode: c_int) -> Result<c_int> {
    let has = |mode| amode & mode != 0;
    let ways =
        [MPI_MODE_RDONLY, MPI_MODE_WRONLY, MPI_MODE_RDWR].into_iter().filter(|mode| has(*mode)).count();
    let known = AMODE_NAMES.iter().fold(0, |all, (value, _)| all | value);
    let wrong = match () {
        () if amode & !known != 0 => format!("has bits that are no mode: {:#x}", amode & !known),
        () if ways != 1 => {
            "must have exactly one of MPI_MODE_RDONLY, MPI_MODE_WRONLY and MPI_MODE_RDWR".to_owned()
        }
        () if has(MPI_MODE_RDONLY) && (has(MPI_MODE_CREATE) || has(MPI_MODE_EXCL)) => {
            "has MPI_MODE_RDONLY, which excludes MPI_MODE_CREATE and MPI_MODE_EXCL".to_owned()
        }
        () if has(MPI_MODE_RDWR) && has(MPI_MODE_SEQUENTIAL) => {
            "has MPI_MODE_RDWR, which excludes MPI_MODE_SEQUENTIAL".to_owned()
        }
        () => return Ok(amode),
    };
    Err(fail(MPI_ERR_AMODE, format!("amode is {amode}: it {wrong}")))
}

/// A communicator for the file alone.
fn own_comm(comm: MPI_Comm) -> Result<MPI_Comm> {
    const CALL: &str = "MPI_File_open";
    if enter().comm(comm)?.remote.is_some() {
        return Err(fail(MPI_ERR_COMM, "this is an intercommunicator; a file needs an intracommunicator"));
    }
    met(CALL, comm, Ok(()))?;
    let (context, children) = child_context(comm)?;
    let mut process = enter();
    let this = process.comm(comm)?;
    let mut own = Comm::new(context, this.rank, this.group.clone(), None);
    own.children = children;
    own.name = format!("the communicator of a file on {}", this.name);
    let handle = process.objects.comms.insert(own);
    let handle = handle.ok_or_else(|| fail(MPI_ERR_NO_MEM, "2^18 communicators exist: free some"))?;
    process.objects.sessions.inherit(comm.0, handle.0);
    Ok(handle)
}

fn open<'a>(
    comm: MPI_Comm,
    arguments: Result<(Handed<'a, MPI_File>, OpenArguments)>,
) -> Result<(Handed<'a, MPI_File>, MPI_File)> {
    const CALL: &str = "MPI_File_open";
    let (participants, group, context, host) = {
        let process = enter();
        let own = process.comm(comm)?;
        (
            Participants::local(CALL, own),
            own.group.clone(),
            own.context,
            process.host_among(own.group.members()),
        )
    };
    let hints = match &arguments {
        Ok((_, wanted)) => hints_of(&wanted.info, participants.rank),
        Err(_) => Hints::default(),
    };
    let amode = arguments.as_ref().map_or(0, |(_, wanted)| wanted.amode);
    let mine = [&[host.into(), amode as u64][..], &hints.shared()].concat();
    let ((fh, wanted), mut told) = agree(&participants, arguments, &mine)?;
    let hosts = told.iter_mut().map(|words| words.remove(0) as u32).collect();
    expect_same((), &told)?;
    let (facts, position) = open_everywhere(&participants, (group, context, hosts), &wanted, &hints)?;
    let view = Arc::new(FileView {
        view: View::bytes(),
        etype: Datatype::predefined(Basic::Byte).clone(),
        filetype: Datatype::predefined(Basic::Byte).clone(),
        representation: Representation::Native,
    });
    let mut process = enter();
    let errhandler = process.objects.errhandlers.for_files();
    process.objects.errhandlers.retain(errhandler);
    serve::begin(&mut process, &facts);
    if hints.access_style.is_some() {
        facts.storage.advise(&hints.advice());
    }
    let locks = LockedAccesses::default();
    let direct = DirectAccess::of(&facts, &view, locks);
    let (is_atomic, split) = (false, None);
    let mut file = File { facts, comm, errhandler, hints, view, direct, position, is_atomic, locks, split };
    file.settle_locks();
    super::verbose::opened(&process, &file);
    let handle = process.objects.files.table.insert(Box::new(file)).map(MPI_File);
    let handle = handle.ok_or_else(|| fail(MPI_ERR_NO_MEM, "2^18 files are open: close some"))?;
    Ok((fh, handle))
}

/// Hints of the program, above those of the settings.
fn hints_of(info: &Info, me: u32) -> Hints {
    let process = enter();
    let (mut hints, mut ignored) = process.objects.files.settings.hints();
    ignored.extend(super::info::take(&mut hints, info));
    super::verbose::ignored(&process, me, &ignored);
    hints
}

/// The ranks of a file: their group, the context of their messages, and the host of each.
type FileRanks = (tern_engine::Group, u64, Vec<u32>);

/// Rank 0 opens the file first, and makes it if it is to be made; the others then find it. What they know of it, and where pointers are.
fn open_everywhere(
    participants: &Participants,
    ranks: FileRanks,
    wanted: &OpenArguments,
    hints: &Hints,
) -> Result<(Arc<FileFacts>, u64)> {
    let first = if participants.rank == 0 { open_first(wanted, hints).map(Some) } else { Ok(None) };
    let made = matches!(first, Ok(Some((_, true))));
    let (first, _) = agree(participants, first, &[])?;
    let opened = match first {
        Some((file, _)) => Ok(file),
        None => open_here(wanted, &mut options(wanted.amode)).map_err(|error| {
            let is_beside_first = ranks.2[participants.rank as usize] == ranks.2[0];
            unseen(error, &wanted.path, is_beside_first)
        }),
    };
    let opened = opened.and_then(|file| OpenedFile::new(file, participants.rank, &ranks.2, wanted, hints));
    let known = opened_by_all(participants, ranks, wanted, opened);
    // Nothing is left of a file that this call has made and not all ranks could open.
    if made && known.is_err() {
        let _ = std::fs::remove_file(wanted.place());
    }
    known
}

fn unseen(error: io::Error, path: &str, is_beside_first: bool) -> Box<Error> {
    if error.kind() != io::ErrorKind::NotFound || is_beside_first {
        return of_system(&error, path);
    }
    not_shared(path, "does not see it")
}

/// This host does not share the file with that of rank 0.
fn not_shared(path: &str, what: &str) -> Box<Error> {
    let host = crate::env::inquiry::host_name();
    fail(
        MPI_ERR_NO_SUCH_FILE,
        format!(
            "'{path}' is open at rank 0, but host {host} {what}: is it on a file system that all hosts share?"
        ),
    )
}

fn options(amode: c_int) -> std::fs::OpenOptions {
    let mut options = std::fs::File::options();
    let has = |mode| amode & mode != 0;
    options.read(!has(MPI_MODE_WRONLY)).write(!has(MPI_MODE_RDONLY));
    options
}

fn open_here(wanted: &OpenArguments, options: &mut std::fs::OpenOptions) -> io::Result<std::fs::File> {
    let file = options.open(wanted.place())?;
    if file.metadata()?.is_dir() {
        return Err(io::Error::from_raw_os_error(libc::EISDIR));
    }
    Ok(file)
}

/// The file, and whether it was made by this.
fn open_first(wanted: &OpenArguments, hints: &Hints) -> Result<(std::fs::File, bool)> {
    let refused = |error| of_system(&error, &wanted.path);
    let has = |mode| wanted.amode & mode != 0;
    let (creates, is_exclusive) = (has(MPI_MODE_CREATE), has(MPI_MODE_EXCL));
    let mut create = options(wanted.amode);
    create.mode(hints.file_perm.unwrap_or(0o666));
    if creates {
        match open_here(wanted, create.clone().create_new(true)) {
            Ok(file) => return Ok((file, true)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && !is_exclusive => {}
            // A file system may refuse to make what is there already by another word.
            Err(error) if !is_exclusive && wanted.place().exists() => drop(error),
            Err(error) => return Err(refused(error)),
        }
    }
    let opened = match open_here(wanted, &mut options(wanted.amode)) {
        // The name is there, but the file is not: it is a link, which the system follows where the file need not be new.
        Err(error) if error.kind() == io::ErrorKind::NotFound && creates && !is_exclusive => {
            open_here(wanted, create.create(true))
        }
        opened => opened,
    };
    opened.map(|file| (file, false)).map_err(refused)
}

/// A file that this rank has opened, and what it offers to the others.
struct OpenedFile {
    storage: PosixFile,
    filesystem: FileSystem,
    block_bytes: u64,
    together: Together,
    pool: PoolOffer,
    pointer: PointerOffer,
    /// Where pointers begin.
    start: u64,
    /// What tells it from other files, or 0: a name may be another file's at another host, or in another folder.
    identity: u64,
    /// The same among ranks of one host.
    identity_on_host: u64,
}

impl OpenedFile {
    fn new(
        file: std::fs::File,
        rank: u32,
        hosts: &[u32],
        wanted: &OpenArguments,
        hints: &Hints,
    ) -> Result<OpenedFile> {
        tern_io::size_limit::ask();
        tern_io::size_limit::survive();
        if !filesystem::has_places(&file) {
            let text = format!(
                "'{}' is a pipe, a terminal or the like, which has no places: a file of MPI must have them",
                wanted.path
            );
            return Err(fail(MPI_ERR_UNSUPPORTED_OPERATION, text));
        }
        let found = file.metadata().map_err(|error| of_system(&error, &wanted.path))?;
        let filesystem = FileSystem::of(file.as_raw_fd()).unwrap_or(FileSystem::Local);
        let together = Together::new(hosts, filesystem, hints);
        let is_on_one_host = hosts.iter().all(|host| *host == hosts[0]);
        let shares = hosts.len() > 1 && is_on_one_host;
        let identity = if is_on_one_host { None } else { filesystem::identity(&file) };
        Ok(OpenedFile {
            identity_on_host: filesystem::identity_on_host(&file, wanted.amode & MPI_MODE_RDONLY == 0),
            storage: PosixFile::new(file),
            filesystem,
            block_bytes: found.blksize(),
            pool: together.offer(rank, shared_memory().filter(|_| shares)),
            pointer: PointerOffer::new(rank, shares)?,
            together,
            start: if wanted.amode & MPI_MODE_APPEND != 0 { found.len() } else { 0 },
            identity: identity.unwrap_or(0),
        })
    }

    fn words(&self) -> Vec<u64> {
        [&self.pool.words()[..], &self.pointer.words(), &[self.identity, self.identity_on_host]].concat()
    }
}

/// All ranks have opened the file, or one has not; they tell each other what they offer, and whether they can use what the others do.
fn opened_by_all(
    participants: &Participants,
    (group, context, hosts): FileRanks,
    wanted: &OpenArguments,
    opened: Result<OpenedFile>,
) -> Result<(Arc<FileFacts>, u64)> {
    let words = opened.as_ref().map_or(vec![0; 6], OpenedFile::words);
    let (mut opened, told) = agree(participants, opened, &words)?;
    let identities: Vec<_> = told.iter().map(|words| [words[4], words[5]]).collect();
    expect_one_file(participants, &wanted.path, &hosts, &identities)?;
    let two = |first: usize| told.iter().map(|words| [words[first], words[first + 1]]).collect::<Vec<_>>();
    let shares = opened.together.accept(opened.pool, &two(0));
    let pointer = opened.pointer.accept(&two(2));
    if let (Some(pointer), 0) = (&pointer, participants.rank) {
        pointer.set(opened.start);
    }
    let mine = [u64::from(shares), u64::from(pointer.is_some()), opened.start];
    let (_, told) = agree(participants, Ok(()), &mine)?;
    let start = told[0][2];
    if !told.iter().all(|words| words[0] == 1) {
        opened.together.refuse();
    }
    let pointer = pointer.filter(|_| told.iter().all(|words| words[1] == 1));
    let facts = FileFacts {
        path: wanted.path.clone(),
        place: std::path::absolute(wanted.place()).unwrap_or_else(|_| wanted.place()),
        amode: wanted.amode,
        me: participants.rank,
        group,
        context,
        hosts,
        storage: Arc::new(opened.storage),
        filesystem: opened.filesystem,
        block_bytes: opened.block_bytes,
        shared: pointer.unwrap_or_else(|| SharedPointer::at_first(start)),
        together: opened.together,
        pending: AtomicUsize::new(0),
        unsynced: AtomicUsize::new(0),
        syncs_soon: AtomicBool::new(false),
    };
    Ok((Arc::new(facts), start))
}

/// All ranks have opened the file that rank 0 has, as far as their numbers tell. Names may differ (section 14.2.1).
fn expect_one_file(
    participants: &Participants,
    path: &str,
    hosts: &[u32],
    identities: &[[u64; 2]],
) -> Result {
    let differ = |one: u64, other: u64| one != 0 && other != 0 && one != other;
    let is_elsewhere = |rank: usize| differ(identities[rank][0], identities[0][0]);
    let beside = |rank: usize| hosts.iter().position(|host| *host == hosts[rank]).unwrap_or(rank);
    let is_other = |rank: usize| differ(identities[rank][1], identities[beside(rank)][1]);
    if !(0..hosts.len()).any(|rank| is_elsewhere(rank) || is_other(rank)) {
        return Ok(());
    }
    let me = participants.rank as usize;
    let mine = if is_other(me) {
        let text = format!("'{path}' is not the file that rank {} has opened, on the same host", beside(me));
        Err(fail(MPI_ERR_NOT_SAME, text))
    } else if is_elsewhere(me) {
        Err(not_shared(path, "has another file of that name"))
    } else {
        Ok(())
    };
    agree(participants, mine, &[]).map(|_| ())
}

/// Nobody uses the file any more.
fn free(fh: MPI_File) {
    let mut process = enter();
    let Some(file) = process.objects.files.table.remove(fh.0) else { return };
    serve::end(&mut process, &file.facts);
    process.objects.errhandlers.release(file.errhandler);
    if let Some(comm) = process.remove_own_comm(file.comm) {
        process.leave_shm_comm(comm.shm_comm);
    }
}

/// Where ranks have bells for each other, windows need no messages.
fn shared_memory() -> Option<Arc<tern_shm::JobMemory>> {
    let mut process = enter();
    let rings = matches!(
        process.coll.transport,
        tern_transport::TransportSetting::Auto | tern_transport::TransportSetting::Shm
    );
    process.engine().ok()?.transport().memory().ok().filter(|_| rings)
}
