//! Pointers: seeking and asking (MPI 5.0 sections 14.4.3 and 14.4.4).

use super::agreement::once;
use super::manage::{comm, compared, facts};
use super::object::File;
use crate::core::boundary::Out;
use crate::core::entry::entry;
use crate::core::error::{Result, fail};
use crate::core::process::enter;
use std::ffi::c_int;
use tern_abi::*;

entry! {
    /// Moves this process's file pointer.
    safe fn MPI_File_seek(fh: MPI_File, offset: MPI_Offset, whence: c_int) on fh {
        let mut process = enter();
        let file = process.file_mut(fh)?;
        file.facts.expect_places()?;
        file.position = sought(file, file.position, offset, whence)?;
        Ok(())
    }

    /// Where this rank's pointer is, in elementary types of the view.
    safe fn MPI_File_get_position(fh: MPI_File, offset: Out<'_, MPI_Offset>) on fh {
        let process = enter();
        let file = process.file(fh)?;
        file.facts.expect_places()?;
        offset.set(file.position as MPI_Offset);
        Ok(())
    }

    /// Moves the pointer of all ranks, who all call.
    safe fn MPI_File_seek_shared(fh: MPI_File, offset: MPI_Offset, whence: c_int) on fh {
        let facts = facts(fh)?;
        let whence_known = facts.expect_places().and_then(|()| expect_whence(whence));
        let ready = compared("MPI_File_seek_shared", comm(fh)?, whence_known)?;
        // Until all have come, a rank may still move the pointer or the end of the file.
        once("MPI_File_seek_shared", &facts, (ready, &[offset as u64, whence as u64]), |()| {
            let now = facts.shared.get("MPI_File_seek_shared", &facts)?;
            facts.shared.set(sought(enter().file(fh)?, now, offset, whence)?);
            Ok(())
        })?;
        Ok(())
    }

    /// Where the pointer of all ranks is.
    safe fn MPI_File_get_position_shared(fh: MPI_File, offset: Out<'_, MPI_Offset>) on fh {
        let facts = facts(fh)?;
        facts.expect_places()?;
        offset.set(facts.shared.get("MPI_File_get_position_shared", &facts)? as MPI_Offset);
        Ok(())
    }
}

fn expect_whence(whence: c_int) -> Result {
    match whence {
        MPI_SEEK_SET | MPI_SEEK_CUR | MPI_SEEK_END => Ok(()),
        _ => Err(fail(
            MPI_ERR_ARG,
            format!("whence is {whence}, but must be MPI_SEEK_SET, MPI_SEEK_CUR or MPI_SEEK_END"),
        )),
    }
}

fn sought(file: &File, now: u64, offset: MPI_Offset, whence: c_int) -> Result<u64> {
    expect_whence(whence)?;
    let (base, what) = match whence {
        MPI_SEEK_CUR => (now, "where the pointer is"),
        MPI_SEEK_END => (end(file)?, "the end of the file"),
        _ => (0, "the view's beginning"),
    };
    let target = base.checked_add_signed(offset).ok_or_else(|| {
        fail(MPI_ERR_ARG, format!("offset {offset} from {what} ({base}) lies before the view's beginning"))
    })?;
    if target > MPI_Offset::MAX as u64 {
        let text = format!("offset {offset} from {what} ({base}) is more than an MPI_Offset can tell");
        return Err(fail(MPI_ERR_ARG, text));
    }
    Ok(target)
}

/// The end of the file in elementary types of the view; one that is only begun counts.
fn end(file: &File) -> Result<u64> {
    let view = &file.view.view;
    Ok(view.stream_before(file.facts.bytes()?).div_ceil(view.etype_bytes()))
}
