//! `tern info --collectives`: the selection table of the coll room.

use tern_coll::table::{HEADING, TABLE};

/// The table, and how to read it.
pub fn list() -> String {
    let rows: String = TABLE.iter().map(|row| format!("{row}\n")).collect();
    format!(
        "{HEADING}\n{rows}\n\
         Of the rows of a collective, the first that fits is taken. Bytes are those of the call that decide: the\n\
         whole vector of a broadcast or reduction, one rank's block elsewhere.\n\
         MPI_Barrier among ranks of one machine counts arrivals in a slot of shared memory instead.\n"
    )
}
