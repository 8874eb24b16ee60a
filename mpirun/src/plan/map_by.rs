//! What `--map-by` says of hosts: in which order ranks go to them.

use serde::{Deserialize, Serialize};
use tern_job::limits::RANKS_MAX;
use tern_job::topology::{Level, MachineTopology};

use crate::plan::bind::names_of_parts;
use crate::watch::exit_cause::Refusal;

/// In which order ranks go to the hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum MapBy {
    /// All slots of the first host, then those of the next.
    #[default]
    Slot,
    /// One to each host in turn that has a slot left.
    Node,
    /// So many to each host.
    PerNode(u32),
    /// So many to each of these parts of a host, of which all hosts have as many as this one.
    PerPart(u32, Level),
}

impl MapBy {
    /// Reads the option's value, without what follows the last colon but in `ppr:N:node`.
    pub(crate) fn parse(value: &str) -> Result<MapBy, Refusal> {
        match value {
            "" | "slot" | "user" | "sys" => Ok(MapBy::Slot),
            "node" | "host" | "rr" => Ok(MapBy::Node),
            _ => {
                let number = value.strip_prefix("ppr:").and_then(|rest| rest.strip_suffix(":node"));
                number.map_or_else(|| Err(unknown(value)), |number| per_node(number, value))
            }
        }
    }

    /// The same, where so many to each part is so many to each host. Only these processors count, if there are any.
    pub(crate) fn counted(self, cpus: &[u32]) -> MapBy {
        let MapBy::PerPart(number, part) = self else { return self };
        let here = MachineTopology::here();
        let usable = if cpus.is_empty() { here } else { here.among(cpus) };
        MapBy::PerNode(number.saturating_mul(usable.parts(part).len().max(1) as u32))
    }
}

/// A number of ranks or hosts that a job can have.
pub(crate) fn parse_count(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number| (1..=RANKS_MAX).contains(number))
}

/// The `N` of `ppr:N:node`.
fn per_node(number: &str, value: &str) -> Result<MapBy, Refusal> {
    parse_count(number).map(MapBy::PerNode).ok_or_else(|| {
        Refusal::usage(format!(
            "option --map-by: '{value}': {number} is no number of ranks from 1 to {RANKS_MAX}"
        ))
    })
}

fn unknown(value: &str) -> Refusal {
    Refusal::usage(format!(
        "option --map-by: '{value}' is none of slot, node, ppr:N:node, ppr:N:PART, dist:DEVICE, pe-list=LIST, {}",
        names_of_parts()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_in_each_part_are_so_many_on_each_host() {
        let parts = MachineTopology::here().parts(Level::HwThread).len() as u32;
        assert_eq!(MapBy::PerPart(3, Level::HwThread).counted(&[]), MapBy::PerNode(3 * parts));
        assert_eq!(MapBy::PerPart(3, Level::Machine).counted(&[]), MapBy::PerNode(3));
        assert_eq!(MapBy::Node.counted(&[]), MapBy::Node);
    }

    #[test]
    fn values_of_the_option() {
        assert_eq!(MapBy::parse("slot").unwrap(), MapBy::Slot);
        assert_eq!(MapBy::parse("node").unwrap(), MapBy::Node);
        assert_eq!(MapBy::parse("ppr:2:node").unwrap(), MapBy::PerNode(2));
        for bad in ["nod", "core", "ppr:0:node", "ppr:2:core"] {
            assert!(MapBy::parse(bad).unwrap_err().to_string().contains(bad));
        }
    }
}
