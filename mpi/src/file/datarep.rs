//! How data look in a file (MPI 5.0 section 14.5): as in memory, in `external32`, or as the program's own functions make them.

mod object;

use object::{BufferAddress, Conversion};
pub(crate) use object::{ConvertedTransfer, Registered, Representation};

use crate::core::arguments::{self, present};
use crate::core::boundary::{ChoiceBuf, Out};
use crate::core::entry::entry;
use crate::core::error::{Result, fail};
use crate::core::process::{Process, enter};
use std::borrow::Cow;
use std::ffi::c_void;
use std::sync::Arc;
use tern_abi::*;
use tern_mem::UserBuf;

entry! {
    /// Registers a data representation of the program's; no file is concerned.
    safe fn MPI_Register_datarep(
        datarep: Cow<'_, str>, read_conversion_fn: Option<MPI_Datarep_conversion_function>,
        write_conversion_fn: Option<MPI_Datarep_conversion_function>,
        dtype_file_extent_fn: Option<MPI_Datarep_extent_function>, extra_state: *mut c_void,
    ) on MPI_FILE_NULL {
        let [read, write] = [read_conversion_fn, write_conversion_fn].map(|function| function.map(Conversion::Small));
        register(datarep.into_owned(), read, write, dtype_file_extent_fn, extra_state)
    }

    /// The same with functions that take large counts.
    safe fn MPI_Register_datarep_c(
        datarep: Cow<'_, str>, read_conversion_fn: Option<MPI_Datarep_conversion_function_c>,
        write_conversion_fn: Option<MPI_Datarep_conversion_function_c>,
        dtype_file_extent_fn: Option<MPI_Datarep_extent_function>, extra_state: *mut c_void,
    ) on MPI_FILE_NULL {
        let [read, write] = [read_conversion_fn, write_conversion_fn].map(|function| function.map(Conversion::Large));
        register(datarep.into_owned(), read, write, dtype_file_extent_fn, extra_state)
    }

    /// The extent of a datatype in the file, in the representation of the view.
    safe fn MPI_File_get_type_extent(fh: MPI_File, datatype: MPI_Datatype, extent: Out<'_, MPI_Aint>) on fh {
        extent.set(extent_in_file(fh, datatype)? as MPI_Aint);
        Ok(())
    }

    /// The same with a large result.
    safe fn MPI_File_get_type_extent_c(fh: MPI_File, datatype: MPI_Datatype, extent: Out<'_, MPI_Count>) on fh {
        extent.set(extent_in_file(fh, datatype)?);
        Ok(())
    }
}

fn register(
    name: String,
    read: Option<Conversion>,
    write: Option<Conversion>,
    extent: Option<MPI_Datarep_extent_function>,
    extra: *mut c_void,
) -> Result {
    if name.is_empty() || name.len() >= MPI_MAX_DATAREP_STRING as usize {
        let most = MPI_MAX_DATAREP_STRING - 1;
        return Err(fail(
            MPI_ERR_ARG,
            format!("datarep has {} characters, but must have 1 to {most}", name.len()),
        ));
    }
    let extent = extent.ok_or_else(|| fail(MPI_ERR_ARG, "dtype_file_extent_fn is a null pointer"))?;
    let mut process = enter();
    process.engine()?;
    if process.representation(&name).is_some() {
        return Err(fail(MPI_ERR_DUP_DATAREP, format!("the data representation '{name}' exists already")));
    }
    process.objects.files.representations.push(Arc::new(Registered { name, read, write, extent, extra }));
    Ok(())
}

fn extent_in_file(fh: MPI_File, datatype: MPI_Datatype) -> Result<i64> {
    let (view, datatype) = {
        let process = enter();
        (process.file(fh)?.view.clone(), process.objects.types.get(datatype)?.clone())
    };
    Ok(view.representation.in_file(&datatype)?.extent())
}

impl Process {
    /// The representation of a name.
    pub(crate) fn representation(&self, name: &str) -> Option<Representation> {
        Some(match name {
            "native" => Representation::Native,
            "internal" => Representation::Internal,
            "external32" => Representation::External32,
            _ => {
                let found =
                    self.objects.files.representations.iter().find(|registered| registered.name == name)?;
                Representation::Registered(found.clone())
            }
        })
    }
}

impl ConvertedTransfer {
    /// The buffer `(buf, count, datatype)` of a call. Of a write, data are converted here. The state is not held.
    pub(crate) fn new(
        fh: MPI_File,
        (base, count, datatype): (ChoiceBuf, i64, MPI_Datatype),
        writes: bool,
    ) -> Result<ConvertedTransfer> {
        let process = enter();
        let view = process.file(fh)?.view.clone();
        let plain = arguments::buffer(&process, base, count, datatype)?;
        let handle = datatype;
        let datatype = process.objects.types.committed(datatype)?.clone();
        drop(process);
        let representation = view.representation.clone();
        let file_size = representation.size(&datatype)?;
        let base = BufferAddress(base.bytes());
        let buf = if representation.is_plain() { plain } else { UserBuf::empty() };
        let owns_handle = false;
        let mut transfer =
            ConvertedTransfer { buf, representation, datatype, handle, owns_handle, base, count, file_size };
        if !transfer.representation.is_plain() {
            present("the buffer", base.0.cast(), transfer.file_bytes()? as u64, transfer.datatype.true_lb())?;
            transfer.buf = UserBuf::owned(transfer.file_bytes()? as usize);
            if writes {
                // SAFETY: the program vouches for the memory, until the access has ended.
                unsafe { transfer.encode()? };
            }
        }
        Ok(transfer)
    }

    /// The access goes on after its call, and the program may free its datatype meanwhile. Where a function of the program's will get a
    /// handle of it, that is another one until [`Self::forget_handle`].
    pub(crate) fn keep_handle(&mut self, process: &mut Process) {
        if self.is_converted_by_program()
            && self.datatype.named().is_none()
            && let Ok(handle) = process.objects.types.handle_of(&self.datatype)
        {
            (self.handle, self.owns_handle) = (handle, true);
        }
    }

    /// Nothing is converted any more.
    pub(crate) fn forget_handle(&self, process: &mut Process) {
        if self.owns_handle {
            let _ = process.objects.types.remove(self.handle);
        }
    }
}
