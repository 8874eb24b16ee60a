//! `tern info --protocols`: the engine's own table, with the limits of the transports on this node, and the ways to windows.

use tern_engine::protocol_table;
use tern_fabric::loopback::Loopback;
use tern_settings::Environment;
use tern_transport::{Limits, Transport};

use crate::features;
use crate::table::TextTable;

/// The tables, one for each transport.
pub(crate) fn list() -> Result<String, String> {
    let all = Environment::read(|name| std::env::var(name).ok()).map_err(|bad| bad.to_string())?;
    let shm = shm_limits(&all);
    let own = Loopback::new(0).limits(0);
    Ok(format!(
        "To a rank of the same node (shm)\n{}\nTo itself (self)\n{}\nTo a rank of another node (tcp)\n{}\n\
         To a window's memory on the same node\n{}",
        table(&all, &shm, 0),
        table(&all, &own, 0),
        table(&all, &all.transport.tcp.limits(), all.transport.tcp.zero_copy_eager_bytes_max()),
        windows(features::memory_can_be_read().is_ok())
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

/// The ways to a window's memory. `readable`: the system lets ranks reach each other's.
fn windows(readable: bool) -> String {
    let mut table = TextTable::default();
    table.row(["way", "when", "put, get", "accumulate", "flush"]);
    let mapped = "MPI_Win_allocate, MPI_Win_allocate_shared, the rank's own memory";
    table.row([
        "direct",
        mapped,
        "copies",
        "atomic instructions, or a lock of the target",
        "stores are ordered",
    ]);
    let own = "MPI_Win_create, MPI_Win_create_dynamic";
    let copies = if readable { "the kernel copies" } else { "an error: the system forbids it here" };
    table.row(["kernel", own, copies, "a lock of the target", "nothing is under way"]);
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
