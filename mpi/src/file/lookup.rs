//! From a handle to its file.

use super::object::File;
use crate::core::error::{Error, Result, fail};
use crate::core::given;
use crate::core::process::{Process, outside};
use tern_abi::*;

impl Process {
    /// The file of a handle.
    #[inline]
    pub(crate) fn file(&self, fh: MPI_File) -> Result<&File> {
        self.objects.files.table.get(fh.0).map(|file| &**file).ok_or_else(|| self.no_file(fh))
    }

    /// The file of a handle, to change it.
    pub(crate) fn file_mut(&mut self, fh: MPI_File) -> Result<&mut File> {
        if self.objects.files.table.get(fh.0).is_none() {
            return Err(self.no_file(fh));
        }
        Ok(self.objects.files.table.get_mut(fh.0).expect("just found"))
    }

    #[cold]
    fn no_file(&self, fh: MPI_File) -> Box<Error> {
        if self.engine_ref().is_none() {
            return outside();
        }
        if fh == MPI_FILE_NULL {
            return fail(MPI_ERR_FILE, "the file is MPI_FILE_NULL");
        }
        fail(MPI_ERR_FILE, format!("{:#x} is no file: it was closed or never was one", given::file(fh.0)))
    }
}
