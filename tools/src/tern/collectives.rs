//! `tern info --collectives`: the selection table of the coll room, with a user's rows before it.

use tern_coll::table::{HEADING, TABLE, TableRow, load};
use tern_settings::Environment;

/// The table in effect, and how to read it.
pub(crate) fn list() -> Result<String, String> {
    let all = Environment::read(|name| std::env::var_os(name)).map_err(|bad| bad.to_string())?;
    let mut text = format!("{HEADING:<92}  # from; needs\n");
    if !all.coll_table.is_empty() {
        let rows = load(all.coll_table.as_ref()).map_err(|bad| format!("TERN_COLL_TABLE: {bad}"))?;
        text += &lines(&rows, &all.coll_table);
    }
    text += &lines(TABLE, "built in");
    Ok(format!(
        "{text}\n\
         Of the rows of a collective, the first that fits and whose needs are met is taken; those of TERN_COLL_TABLE, a\n\
         file in this form, come first. Bytes are those of the call that decide: the whole vector of a broadcast or\n\
         reduction, one rank's block elsewhere. The segment is what an algorithm cuts messages into; '-' leaves it to\n\
         the algorithm. What goes over slots in shared memory asks no row, unless TERN_COLL_TABLE has one for it that\n\
         names another algorithm than shm.\n"
    ))
}

fn lines(rows: &[TableRow], from: &str) -> String {
    let line = |row: &TableRow| match row.choice.algorithm.needs(row.collective) {
        needs if needs.is_empty() => format!("{:<92}  # {from}\n", row.to_string()),
        needs => format!("{:<92}  # {from}; {needs}\n", row.to_string()),
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_can_be_used_as_a_table() {
        let text = format!("{HEADING:<92}  # from; needs\n{}", lines(TABLE, "built in"));
        assert_eq!(tern_coll::table::parse(&text), Ok(TABLE.to_vec()));
    }
}
