//! Sizes, groups, modes, consistency (MPI 5.0 sections 14.2.4 to 14.2.7 and 14.6).

use super::agreement::{agree, once};
use super::facts::FileFacts;
use super::fault::of_system;
use crate::coll::met_if_checked;
use crate::core::boundary::Out;
use crate::core::entry::entry;
use crate::core::error::{Result, fail};
use crate::core::process::enter;
use std::ffi::c_int;
use std::sync::Arc;
use tern_abi::*;
use tern_io::FileSystem;

entry! {
    /// Sets the size of a file.
    safe fn MPI_File_set_size(fh: MPI_File, size: MPI_Offset) on fh {
        let facts = facts(fh)?;
        let wanted = facts.expect_idle().and_then(|()| writable_size(&facts, size));
        let wanted = compared("MPI_File_set_size", comm(fh)?, wanted)?;
        once("MPI_File_set_size", &facts, (wanted, &[size as u64]), |size| {
            facts.storage.0.set_len(*size).map_err(|error| of_system(&error, &facts.path))
        })?;
        Ok(())
    }

    /// Makes sure that there is room for so many bytes.
    safe fn MPI_File_preallocate(fh: MPI_File, size: MPI_Offset) on fh {
        let facts = facts(fh)?;
        let wanted = compared("MPI_File_preallocate", comm(fh)?, writable_size(&facts, size))?;
        once("MPI_File_preallocate", &facts, (wanted, &[size as u64]), |size| match *size {
            0 => Ok(()),
            size => facts.storage.preallocate(size).map_err(|error| of_system(&error, &facts.path)),
        })?;
        Ok(())
    }

    /// The size of a file in bytes.
    safe fn MPI_File_get_size(fh: MPI_File, size: Out<'_, MPI_Offset>) on fh {
        size.set(facts(fh)?.bytes()? as MPI_Offset);
        Ok(())
    }

    /// The group of the processes that have opened a file.
    safe fn MPI_File_get_group(fh: MPI_File, group: Out<'_, MPI_Group>) on fh {
        let mut process = enter();
        let members = process.file(fh)?.facts.group.clone();
        group.set(process.new_group(members)?);
        Ok(())
    }

    /// The access mode of a file.
    safe fn MPI_File_get_amode(fh: MPI_File, amode: Out<'_, c_int>) on fh {
        amode.set(facts(fh)?.amode);
        Ok(())
    }

    /// Sets whether accesses that overlap are as if they came one after the other.
    safe fn MPI_File_set_atomicity(fh: MPI_File, flag: c_int) on fh {
        let facts = facts(fh)?;
        // Accesses that are under way go on as they were begun (section 14.6.1).
        let ready = compared("MPI_File_set_atomicity", comm(fh)?, Ok(()))?;
        once("MPI_File_set_atomicity", &facts, (ready, &[u64::from(flag != 0)]), |()| Ok(()))?;
        enter().file_mut(fh)?.set_atomic(flag != 0);
        Ok(())
    }

    /// Whether accesses to a file are atomic.
    safe fn MPI_File_get_atomicity(fh: MPI_File, flag: Out<'_, c_int>) on fh {
        flag.set(c_int::from(enter().file(fh)?.is_atomic));
        Ok(())
    }

    /// What was written is on the medium, and what others have synced is seen here.
    safe fn MPI_File_sync(fh: MPI_File) on fh {
        let facts = facts(fh)?;
        let ready = compared("MPI_File_sync", comm(fh)?, facts.expect_idle())?;
        let participants = facts.participants("MPI_File_sync");
        // What all ranks of a host have written is one file's, so one call of the system is enough, when all have come.
        agree(&participants, ready, &[])?;
        facts.synced();
        let done = if facts.syncs_for_host() { sync(&facts) } else { Ok(()) };
        agree(&participants, done, &[])?;
        refresh(&facts);
        Ok(())
    }
}

/// What a file's accesses need of it.
pub(crate) fn facts(fh: MPI_File) -> Result<Arc<FileFacts>> {
    Ok(enter().file(fh)?.facts.clone())
}

/// Makes sure that the ranks make the same call, where that is checked. What is wrong with this rank's arguments the others learn later,
/// in the words of its error.
pub(crate) fn compared<T>(call: &'static str, comm: MPI_Comm, arguments: Result<T>) -> Result<Result<T>> {
    met_if_checked(call, comm, Ok(()))?.map(|()| arguments)
}

/// The file's own communicator, on which calls are compared.
pub(crate) fn comm(fh: MPI_File) -> Result<MPI_Comm> {
    Ok(enter().file(fh)?.comm)
}

fn writable_size(facts: &FileFacts, size: MPI_Offset) -> Result<u64> {
    facts.expect(true)?;
    facts.expect_places()?;
    u64::try_from(size).map_err(|_| fail(MPI_ERR_ARG, format!("size is {size}, but must not be negative")))
}

/// What this rank has written is on the medium.
pub(crate) fn sync(facts: &FileFacts) -> Result {
    if !facts.writes() {
        return Ok(());
    }
    match facts.storage.0.sync_all() {
        // Pipes and devices have nothing to sync.
        Err(error) if error.raw_os_error() != Some(libc::EINVAL) => Err(of_system(&error, &facts.path)),
        _ => Ok(()),
    }
}

/// On NFS, taking a lock makes this host ask the server again. Where the server has no locks, opening the file does.
fn refresh(facts: &FileFacts) {
    if facts.filesystem != FileSystem::Nfs {
        return;
    }
    if facts.storage.lock_range(0, 0, facts.writes()).is_ok() {
        let _ = tern_io::Storage::unlock(&*facts.storage, 0, 0);
    } else {
        let _ = std::fs::File::open(&facts.place);
    }
}
