//! Representations, and what converts data on their way.

use crate::core::error::{Error, Result, fail};
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::Arc;
use tern_abi::*;
use tern_mem::basic::Basic;
use tern_mem::datatype::PackedBuf;
use tern_mem::{Datatype, UserBuf};

/// A representation.
#[derive(Clone)]
pub(crate) enum Representation {
    /// As in memory.
    Native,
    /// Here the same: all machines of a job are alike.
    Internal,
    /// The standard's own.
    External32,
    /// The program's own.
    Registered(Arc<Registered>),
}

/// A representation that the program has registered.
pub(crate) struct Registered {
    pub(super) name: String,
    pub(super) read: Option<Conversion>,
    pub(super) write: Option<Conversion>,
    pub(super) extent: MPI_Datarep_extent_function,
    pub(super) extra: *mut c_void,
}

// SAFETY: `extra` is the program's own, handed to its own functions.
unsafe impl Send for Registered {}
// SAFETY: as above.
unsafe impl Sync for Registered {}

/// A function of the program's, in one of the two forms.
#[derive(Clone, Copy)]
pub(super) enum Conversion {
    Small(MPI_Datarep_conversion_function),
    Large(MPI_Datarep_conversion_function_c),
}

impl Representation {
    /// Its name.
    pub(crate) fn name(&self) -> &str {
        match self {
            Representation::Native => "native",
            Representation::Internal => "internal",
            Representation::External32 => "external32",
            Representation::Registered(registered) => &registered.name,
        }
    }

    /// Whether data lie in the file as in memory.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self, Representation::Native | Representation::Internal)
    }

    /// A datatype as the file has it. The program's function is called without the state held.
    pub(crate) fn in_file(&self, datatype: &Arc<Datatype>) -> Result<Arc<Datatype>> {
        match self {
            Representation::Native | Representation::Internal => Ok(datatype.clone()),
            Representation::External32 => Ok(datatype.in_file(&|basic| basic.external_size() as i64)?),
            Representation::Registered(registered) => {
                registered.with_extents(|extents| datatype.in_file(extents).map_err(Into::into))
            }
        }
    }

    /// Bytes of one element in the file.
    pub(super) fn size(&self, datatype: &Arc<Datatype>) -> Result<i64> {
        match self {
            Representation::Native | Representation::Internal => Ok(datatype.size()),
            Representation::External32 => Ok(datatype.external_size(1)?),
            Representation::Registered(registered) => {
                registered.with_extents(|extents| datatype.in_file_size(extents).map_err(Into::into))
            }
        }
    }
}

impl Registered {
    /// Calls with what the program's function says of predefined types.
    fn with_extents<T>(&self, work: impl FnOnce(&dyn Fn(Basic) -> i64) -> Result<T>) -> Result<T> {
        let failed = Cell::new(MPI_SUCCESS);
        let extent = |basic: Basic| {
            let mut extent: MPI_Aint = 0;
            let datatype = MPI_Datatype(usize::from(basic.handle_value()));
            // SAFETY: the program gave the function and its state to be called like this; no lock is held.
            let code = unsafe { (self.extent)(datatype, &mut extent, self.extra) };
            if code != MPI_SUCCESS || extent < 0 {
                failed.set(if code == MPI_SUCCESS { MPI_ERR_CONVERSION } else { code });
                return 0;
            }
            extent as i64
        };
        let done = work(&extent)?;
        match failed.get() {
            MPI_SUCCESS => Ok(done),
            code => Err(conversion_failed(code, "dtype_file_extent_fn")),
        }
    }
}

#[cold]
fn conversion_failed(code: c_int, which: &str) -> Box<Error> {
    fail(MPI_ERR_CONVERSION, format!("{which} of the data representation returned error code {code}"))
}

/// A buffer of a call, and what it is in the file.
pub(crate) struct ConvertedTransfer {
    /// The bytes as the file has them.
    pub buf: UserBuf,
    pub(super) representation: Representation,
    pub(super) datatype: Arc<Datatype>,
    pub(super) handle: MPI_Datatype,
    /// Whether the handle is the access's own.
    pub(super) owns_handle: bool,
    pub(super) base: BufferAddress,
    pub(super) count: i64,
    /// Bytes of an element in the file.
    pub(super) file_size: i64,
}

#[derive(Clone, Copy)]
pub(super) struct BufferAddress(pub(super) *mut u8);

// SAFETY: an address of the program's, which is the request's until it has ended.
unsafe impl Send for BufferAddress {}
// SAFETY: as above.
unsafe impl Sync for BufferAddress {}

impl Default for ConvertedTransfer {
    /// Nothing.
    fn default() -> Self {
        ConvertedTransfer {
            buf: UserBuf::empty(),
            representation: Representation::Native,
            datatype: Datatype::predefined(Basic::Byte).clone(),
            handle: MPI_BYTE,
            owns_handle: false,
            base: BufferAddress(std::ptr::null_mut()),
            count: 0,
            file_size: 1,
        }
    }
}

impl ConvertedTransfer {
    pub(super) fn file_bytes(&self) -> Result<i64> {
        let bytes = self.file_size.checked_mul(self.count);
        bytes.ok_or_else(|| fail(MPI_ERR_COUNT, "the data are more bytes than an address space has"))
    }

    /// Whether functions of the program's convert it.
    pub(crate) fn is_converted_by_program(&self) -> bool {
        matches!(self.representation, Representation::Registered(_))
    }

    fn packed(&self) -> *mut u8 {
        self.buf.contiguous_at(0, self.buf.len()).unwrap_or(std::ptr::dangling_mut())
    }

    pub(super) unsafe fn encode(&self) -> Result {
        let to = PackedBuf { base: self.packed(), size: self.buf.len() as i64, position: 0 };
        match &self.representation {
            Representation::External32 => {
                // SAFETY: by the caller; `to` has room for all.
                unsafe { self.datatype.pack_external(self.base.0, self.count, to)? };
            }
            Representation::Registered(registered) => match registered.write {
                // SAFETY: by the caller.
                Some(function) => unsafe {
                    let (entries, _) = self.entries(u64::MAX)?;
                    self.convert(registered, function, entries, "write_conversion_fn")?
                },
                // SAFETY: by the caller.
                None => unsafe { self.move_plainly(self.buf.len(), true) },
            },
            _ => {}
        }
        Ok(())
    }

    /// Converts what has been read: so many bytes of the file. Bytes that they are in memory.
    pub(crate) fn finish(&self, bytes: u64, writes: bool) -> Result<u64> {
        match &self.representation {
            Representation::Native | Representation::Internal => return Ok(bytes),
            _ if writes => {}
            Representation::External32 => {
                // SAFETY: the buffer is the program's, as it promised, and `bytes` are there.
                let native = unsafe {
                    self.datatype.unpack_external_part(
                        self.packed(),
                        bytes as i64,
                        self.base.0,
                        self.count,
                    )?
                };
                return Ok(native as u64);
            }
            Representation::Registered(registered) => {
                let (entries, native) = self.entries(bytes)?;
                match registered.read {
                    // SAFETY: as above.
                    Some(function) => unsafe {
                        self.convert(registered, function, entries, "read_conversion_fn")?
                    },
                    // SAFETY: as above.
                    None => unsafe { self.move_plainly(native as usize, false) },
                }
                return Ok(native);
            }
        }
        Ok(self.entries(bytes)?.1)
    }

    /// How many entries of the typemap so many bytes of the file hold whole, and their bytes in memory. It is these entries that functions
    /// of the program's count (section 14.5.3).
    fn entries(&self, bytes: u64) -> Result<(i64, u64)> {
        let count = |extents: &dyn Fn(Basic) -> i64| {
            self.datatype.entries_in_file(self.count, bytes, extents).map_err(Into::into)
        };
        match &self.representation {
            Representation::Registered(registered) => registered.with_extents(count),
            Representation::External32 => count(&|basic| basic.external_size() as i64),
            Representation::Native | Representation::Internal => count(&|basic| basic.size() as i64),
        }
    }

    /// Without a function, data lie in the file as in memory (section 14.5.3).
    unsafe fn move_plainly(&self, bytes: usize, writes: bool) {
        // SAFETY: by the caller.
        let plain = unsafe { self.datatype.buffer(self.base.0, self.count as u64) };
        let len = plain.len().min(self.buf.len()).min(bytes);
        if writes {
            UserBuf::copy(&plain, 0, &self.buf, 0, len);
        } else {
            UserBuf::copy(&self.buf, 0, &plain, 0, len);
        }
    }

    unsafe fn convert(
        &self,
        registered: &Registered,
        function: Conversion,
        count: i64,
        which: &str,
    ) -> Result {
        let (user, file) = (self.base.0.cast::<c_void>(), self.packed().cast::<c_void>());
        let extra = registered.extra;
        if count == 0 {
            return Ok(());
        }
        let code = match function {
            // SAFETY: the program gave the function to be called like this; no lock is held.
            Conversion::Large(function) => unsafe { function(user, self.handle, count, file, 0, extra) },
            Conversion::Small(function) => {
                let small = c_int::try_from(count).map_err(|_| {
                    fail(
                        MPI_ERR_COUNT,
                        format!("{count} elements are too many for the functions of MPI_Register_datarep"),
                    )
                })?;
                // SAFETY: as above.
                unsafe { function(user, self.handle, small, file, 0, extra) }
            }
        };
        if code == MPI_SUCCESS { Ok(()) } else { Err(conversion_failed(code, which)) }
    }
}
