//! What ranks tell each other before they leave: how they are reached. A launcher of another library passes no addresses on to a rank
//! that has called `MPI_Finalize`, and sessions may follow.

use crate::comm::agree::{Participants, SourceNumbering};
use crate::comm::object::{Comm, Lane};
use crate::core::error::{Error, Result, fail};
use crate::core::network;
use crate::core::process::enter;
use crate::limits::{AGREEMENT_TAG, KEPT_ADDRESSES_MAX};
use tern_abi::{MPI_COMM_WORLD, MPI_ERR_OTHER};
use tern_engine::Group;
use tern_job::hex::{from_hex, to_hex};

/// All ranks do this in `MPI_Finalize`, or none does: whether they have. Nobody goes on before all have come. The first rank of each host
/// speaks for those beside it.
pub(crate) fn tell_each_other(call: &'static str) -> Result<bool> {
    let Some(own) = network::published_address() else { return Ok(false) };
    let (size, local, firsts) = {
        let process = enter();
        let Some(job) =
            process.job.as_ref().filter(|job| job.takes_leave() && job.size <= KEPT_ADDRESSES_MAX)
        else {
            return Ok(false);
        };
        let (places, world) = (job.places(), process.comm(MPI_COMM_WORLD)?);
        let local = places.ranks_of(places.host_of(job.rank)).collect();
        let firsts = (0..places.hosts()).filter_map(|host| places.ranks_of(host).next()).collect();
        (job.size, some_of(world, call, local), some_of(world, call, firsts))
    };
    let all = among_hosts(&local, &firsts, line(local.member(local.rank), &own))?;
    network::keep_addresses(addresses(&all, size).ok_or_else(garbled)?);
    Ok(true)
}

/// Some ranks of the world, of which this process is the first that counts.
fn some_of(world: &Comm, call: &'static str, ranks: Vec<u32>) -> Participants {
    let group = Group::of(ranks);
    Participants {
        call,
        rank: group.rank_of(world.rank).unwrap_or(0),
        group,
        context: world.lane(Lane::Local),
        tag: AGREEMENT_TAG,
        numbering: SourceNumbering::Within(world.group.clone()),
    }
}

/// Everybody's line.
fn among_hosts(local: &Participants, firsts: &Participants, own: String) -> Result<Vec<u8>> {
    if local.rank > 0 {
        local.send_any_length(0, own.as_bytes())?;
        return local.bcast(0, None);
    }
    let mut lines = own.into_bytes();
    for other in 1..local.group.size() {
        lines.extend(local.receive_any_length(other)?);
    }
    let all = firsts.allgather_any_length(&lines)?.concat();
    local.bcast(0, Some(&all))
}

fn line(rank: u32, address: &[u8]) -> String {
    format!("{rank} {}\n", to_hex(address))
}

/// The address of each rank; `None` where the lines are not those of all ranks.
fn addresses(lines: &[u8], size: u32) -> Option<Vec<Vec<u8>>> {
    let mut addresses = vec![None; size as usize];
    for line in std::str::from_utf8(lines).ok()?.lines() {
        let (rank, address) = line.split_once(' ')?;
        *addresses.get_mut(rank.parse::<usize>().ok()?)? = Some(from_hex(address)?);
    }
    addresses.into_iter().collect()
}

#[cold]
fn garbled() -> Box<Error> {
    fail(MPI_ERR_OTHER, "the ranks do not tell each other how they are reached")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_are_written() {
        let lines = format!("{}{}", line(1, &[0xab, 0]), line(0, &[]));
        assert_eq!(addresses(lines.as_bytes(), 2), Some(vec![vec![], vec![0xab, 0]]));
        for bad in ["0 00\n", "0 00\n2 00\n", "0 00\n1 0\n", "0 00\n1\n"] {
            assert_eq!(addresses(bad.as_bytes(), 2), None, "{bad}");
        }
    }
}
