//! Info objects: what is behind the handles.

use crate::core::handle::HandleKind;
use crate::core::table::Table;
use crate::env::hints::Info;

/// All info objects.
pub(crate) struct Infos {
    pub(super) made: Table<Info>,
    /// `MPI_INFO_ENV`, from its first use on.
    pub(super) environment: Option<Info>,
}

impl Infos {
    /// None but the predefined.
    pub(crate) const fn new() -> Self {
        Infos { made: Table::new(HandleKind::Info), environment: None }
    }
}
