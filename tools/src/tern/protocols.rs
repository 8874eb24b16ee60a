//! `tern info --protocols`: the engine's own table, with the limits of the transports on this node, and the ways to windows.

use tern_engine::protocol_table;
use tern_fabric::loopback::Loopback;
use tern_settings::Environment;
use tern_transport::{Limits, Transport};

use crate::features;
use crate::table::TextTable;

/// The tables, one for each transport.
pub(crate) fn list() -> Result<String, String> {
    let all = Environment::read(|name| std::env::var_os(name)).map_err(|bad| bad.to_string())?;
    let shm = shm_limits(&all);
    let own = Loopback::new(0).limits(0);
    Ok(format!(
        "To a rank of the same node (shm)\n{}\nTo itself (self)\n{}\nTo a rank of another node (tcp)\n{}\n\
         To a window's memory\n{}",
        table(&all, &shm, 0),
        table(&all, &own, 0),
        table(&all, &all.transport.tcp.limits(), all.transport.tcp.zero_copy_eager_bytes_max()),
        windows(all.windows_by_messages, all.transport.cma && features::memory_can_be_read().is_ok())
    ))
}

/// What the shared-memory transport would say of a peer.
pub(crate) fn shm_limits(all: &Environment) -> Limits {
    let direct = all.transport.cma && features::memory_can_be_read().is_ok();
    Limits {
        eager_bytes_max: all.transport.shm_eager_bytes_max(false),
        get: direct,
        put: direct,
        cooperative_copy: direct,
        prefers_send: all.transport.copies.by_cells(),
    }
}

/// The ways to a window's memory. `by_messages`: the settings want no other; `readable`: the kernel may copy between ranks.
fn windows(by_messages: bool, readable: bool) -> String {
    let mut table = TextTable::default();
    table.row(["way", "when", "put, get", "accumulate", "flush"]);
    let mapped = match by_messages {
        true => "MPI_Win_allocate_shared, the rank's own memory",
        false => "MPI_Win_allocate, MPI_Win_allocate_shared, the rank's own memory",
    };
    let atomically = "atomic instructions, or a lock of the target";
    table.row(["direct", mapped, "copies", atomically, "stores are ordered"]);
    if readable && !by_messages {
        let waits = "MPI_Win_create, while the target waits in a call";
        table.row(["stage", waits, "both ranks copy", "the target, under a lock", "nothing is under way"]);
        let else_so = "MPI_Win_create otherwise, MPI_Win_create_dynamic";
        table.row(["kernel", else_so, "the kernel copies", "a lock of the target", "nothing is under way"]);
    }
    let far = match (by_messages, readable) {
        (true, _) => "all other windows (TERN_WINDOWS=messages)",
        (false, true) => "ranks of other nodes",
        (false, false) => {
            "ranks of other nodes, MPI_Win_create, MPI_Win_create_dynamic (the kernel may not copy here)"
        }
    };
    table.row([
        "message",
        far,
        "active messages",
        "the target, which then answers",
        "waits for the target's answer",
    ]);
    table.text()
}

fn table(all: &Environment, limits: &Limits, zero_copy_eager_bytes_max: usize) -> String {
    let mut table = TextTable::default();
    table.row(["protocol", "when", "steps"]);
    for row in protocol_table::table(&all.engine, limits, zero_copy_eager_bytes_max) {
        table.row([row.name, &row.when, row.steps]);
    }
    table.text()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ways_that_may_be_gone_are_listed() {
        let ways = |by_messages, readable| {
            let text = windows(by_messages, readable);
            ["direct", "stage", "kernel", "message"]
                .map(|way| text.lines().any(|line| line.trim_start().starts_with(way)))
        };
        assert_eq!(ways(false, true), [true; 4]);
        assert_eq!(ways(false, false), [true, false, false, true]);
        assert_eq!(ways(true, true), [true, false, false, true]);
        assert!(
            windows(false, false)
                .contains("MPI_Win_create, MPI_Win_create_dynamic (the kernel may not copy here)")
        );
    }
}
