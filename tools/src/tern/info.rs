//! `tern info`: version, machine, transports, settings.

use std::path::Path;

use tern_abi::{MPI_ABI_SUBVERSION, MPI_ABI_VERSION, MPI_SUBVERSION, MPI_VERSION};
use tern_datagram::link::may_send_frames;
use tern_ofi::survey;
use tern_settings::{Environment, OTHERS, Variable, variables};
use tern_transport::Medium;

use crate::table::TextTable;
use crate::{coverage, features, machine};

/// All of it.
pub(crate) fn overview(library: Option<&Path>) -> Result<String, String> {
    let features = features::features(features::memory_can_be_read());
    let place = match coverage::find_whole(library) {
        Ok(path) => path.display().to_string(),
        Err(reason) if library.is_some() => return Err(reason),
        Err(reason) => reason,
    };
    let parts = [
        format!("Tern {}\n{}", env!("CARGO_PKG_VERSION"), identity(&place)),
        format!("Machine\n{}", machine::describe(&features)),
        format!("Transports\n{}", transports()),
        format!(
            "Settings: environment variables, their values here, and what they are unless set\n{}",
            settings()
        ),
    ];
    Ok(parts.join("\n"))
}

fn identity(library: &str) -> String {
    let mut table = TextTable::default();
    table.row(["standard", &format!("MPI {MPI_VERSION}.{MPI_SUBVERSION}")]);
    table.row(["ABI", &format!("MPI standard ABI {MPI_ABI_VERSION}.{MPI_ABI_SUBVERSION}, libmpi_abi.so.1")]);
    table.row(["library", library]);
    table.text()
}

fn transports() -> String {
    let mut table = TextTable::default();
    table.row(["shm", "shared memory, between the ranks of one host"]);
    table.row(["self", "a queue in the rank's own memory, from a rank to itself"]);
    table.row(["tcp", "connections, between hosts"]);
    table.row(["urtp", &multicast()]);
    table.row(["libfabric", &fabrics()]);
    table.text()
}

fn fabrics() -> String {
    let mut transport = environment().transport;
    transport.ofi.is_filtered = std::env::var_os("FI_PROVIDER").is_some();
    survey(&transport)
}

/// Whether it works is found out by each job, among its hosts.
fn multicast() -> String {
    let set = environment();
    let why = match () {
        () if set.transport.multicast == Medium::Off => "off, since TERN_MULTICAST=0",
        () if set.transport.tcp.encrypt => {
            "off, since TERN_ENCRYPT=1: its packets are authenticated, not encrypted"
        }
        () => "each job finds out at its start whether it works among its hosts, and mpirun -v says so",
    };
    let ethernet = match (set.transport.multicast, may_send_frames()) {
        (Medium::Ethernet, Ok(())) => ", over Ethernet frames",
        (Medium::Ethernet, Err(_)) => {
            ", over UDP, since this process may not send Ethernet frames (CAP_NET_RAW)"
        }
        _ => "",
    };
    format!("reliable multicast, for collectives between hosts; {why}{ethernet}")
}

/// A star marks what the environment sets.
fn settings() -> String {
    let mut table = TextTable::default();
    table.row(["variable", "value", "default", "values"]);
    let all = environment();
    let mut meanings = Vec::new();
    for variable in variables() {
        table.row([
            variable.name,
            &here(variable, &all),
            &shown(&variable.default()),
            &variable.values.expected(),
        ]);
        meanings.push((variable.name, variable.meaning));
    }
    for other in OTHERS {
        let value =
            std::env::var(other.name).map_or_else(|_| other.default.into(), |value| format!("{value} *"));
        table.row([other.name, &value, other.default, other.values]);
        meanings.push((other.name, other.meaning));
    }
    format!("{}  * set in the environment\n\n{}", table.text(), described(&meanings))
}

fn described(meanings: &[(&str, &str)]) -> String {
    let mut table = TextTable::default();
    for (name, meaning) in meanings {
        table.row([name, meaning]);
    }
    table.text()
}

/// What can be understood of the environment, within its limits.
pub(crate) fn environment() -> Environment {
    let mut all = Environment::default();
    for variable in variables() {
        if let Ok(value) = std::env::var(variable.name) {
            let _ = variable.set(&mut all, &value);
        }
    }
    all.in_effect()
}

fn here(variable: &Variable, all: &Environment) -> String {
    let Ok(value) = std::env::var(variable.name) else { return shown(&variable.value(all)) };
    match variable.set(&mut Environment::default(), &value) {
        Ok(()) => format!("{} *", shown(&variable.value(all))),
        Err(bad) => format!("{value} * {}: MPI_Init will fail", bad.fault),
    }
}

fn shown(value: &str) -> String {
    if value.is_empty() { "none".into() } else { value.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, default: &str, values: &str, meaning: &str) -> String {
        format!("| `{name}` | {} | {values} | {meaning} |", shown(default))
    }

    #[test]
    fn a_library_that_is_not_there_is_not_told_of() {
        assert!(overview(Some(Path::new("/nowhere"))).is_err_and(|reason| reason.contains("/nowhere")));
        assert!(overview(None).is_ok());
    }

    #[test]
    fn the_manual_has_this_table() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/settings.md");
        let page = std::fs::read_to_string(page).expect("the manual of the source tree");
        let found: Vec<&str> = page.lines().filter(|line| line.starts_with("| `TERN_")).collect();
        let own = variables().map(|v| row(v.name, &v.default(), &v.values.expected(), v.meaning));
        let others = OTHERS.iter().map(|o| row(o.name, o.default, o.values, o.meaning));
        let expected: Vec<String> = own.chain(others).collect();
        assert_eq!(found, expected, "put this into docs/reference/settings.md:\n{}\n", expected.join("\n"));
    }
}
