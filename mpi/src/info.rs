//! Info objects (MPI 5.0 chapter 10).

use crate::handle::Kind;
use crate::table::Table;

/// Keys and values, in the order in which they were set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// Pairs of key and value.
    pub entries: Vec<(String, String)>,
}

/// All info objects.
pub struct Infos(pub Table<Info>);

impl Infos {
    /// None but the predefined.
    pub const fn new() -> Self {
        Infos(Table::new(Kind::Info))
    }
}
