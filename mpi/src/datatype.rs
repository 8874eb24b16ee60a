//! Datatypes: the objects behind the handles of chapter 5.

use crate::attr::Attributes;
use crate::error::{Result, fail};
use crate::handle::Kind;
use crate::table::Table;
use std::sync::Arc;
use tern_abi::*;
use tern_mem::Datatype;
use tern_mem::basic::Basic;

/// A datatype of the program's.
#[derive(Debug)]
pub struct TypeObject {
    /// The type itself.
    pub datatype: Arc<Datatype>,
    /// Set by `MPI_Type_set_name`.
    pub name: String,
    /// Cached attributes.
    pub attributes: Attributes,
}

/// All datatypes.
pub struct Types {
    /// The program's.
    pub table: Table<TypeObject>,
}

impl Types {
    /// None but the predefined.
    pub const fn new() -> Self {
        Types { table: Table::new(Kind::Datatype) }
    }

    /// The datatype of a handle.
    pub fn get(&self, datatype: MPI_Datatype) -> Result<&Arc<Datatype>> {
        if let Some(basic) = Basic::from_handle(datatype.0) {
            return Ok(Datatype::predefined(basic));
        }
        match self.table.get(datatype.0) {
            Some(object) => Ok(&object.datatype),
            None if datatype == MPI_DATATYPE_NULL => {
                Err(fail(MPI_ERR_TYPE, "the datatype is MPI_DATATYPE_NULL"))
            }
            None => Err(fail(
                MPI_ERR_TYPE,
                format!("{:#x} is no datatype: it was freed or never was one", datatype.0),
            )),
        }
    }

    /// The datatype of a handle, which may be used in communication.
    pub fn committed(&self, datatype: MPI_Datatype) -> Result<&Arc<Datatype>> {
        let found = self.get(datatype)?;
        if !found.is_committed() {
            return Err(fail(MPI_ERR_TYPE, "the datatype is not committed: call MPI_Type_commit first"));
        }
        Ok(found)
    }

    /// Packed bytes of one element, 0 for an invalid handle.
    pub fn size_of(&self, datatype: MPI_Datatype) -> u64 {
        self.get(datatype).map_or(0, |datatype| datatype.size() as u64)
    }

    /// What travels with a message when types are checked: the one basic type that it consists of, or 0 where there are
    /// several or none.
    pub fn signature(&self, datatype: MPI_Datatype) -> u64 {
        let uniform = self.get(datatype).ok().and_then(|datatype| datatype.uniform());
        match uniform {
            // MPI_PACKED and MPI_BYTE may be received as anything (section 3.3.1).
            Some(Basic::Packed | Basic::Byte) | None => 0,
            Some(basic) => u64::from(basic.handle_value()),
        }
    }
}
