//! The text of `TERN_COLL_TABLE`.

#[path = "../driver.rs"]
mod driver;

pub use driver::Target;

use crate::table::{HEADING, parse};

/// All targets of this room.
pub const TARGETS: &[Target] = &[Target { name: "coll-table", run: table, seeds: tables }];

/// A table that is understood says the same when it is printed and read again.
fn table(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(rows) = parse(text) else { return };
    let printed: String = rows.iter().map(|row| format!("{row}\n")).collect();
    assert_eq!(parse(&printed), Ok(rows), "{printed}");
}

fn tables() -> Vec<Vec<u8>> {
    [
        "allreduce     64k-1m  8-     any       segmented-ring  16k\nbarrier       any     2-16   1         shm\n",
        "# nothing\n\nbarrier any any any dissemination # all\n",
        HEADING,
    ]
    .map(|text| text.as_bytes().to_vec())
    .into()
}

#[cfg(test)]
mod tests {
    #[test]
    fn any_bytes_are_survived() {
        super::driver::bounded(super::TARGETS);
    }
}
