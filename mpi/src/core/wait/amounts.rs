//! How long a wait polls and yields, by what carries messages and how many cores there are.

use crate::limits::*;
use tern_fabric::Fabric;
use tern_job::CoreBudget;

/// Empty polls for which a wait spins at most: they take about as long whatever a poll costs.
pub(crate) fn spin_polls_max(fabric: &Fabric) -> u32 {
    match (fabric.is_networked(), fabric.polls_the_kernel()) {
        (false, _) => SPIN_POLLS_MAX,
        (true, true) => SPIN_POLLS_NETWORK_MAX,
        (true, false) => SPIN_POLLS_PROVIDER_MAX,
    }
}

/// Polls of a blocking receive before it needs a request: none to spare where another rank needs this core, or each is a system call.
pub(crate) fn polls_at_once(fabric: &Fabric, oversubscribed: bool) -> u32 {
    let calls_system = fabric.polls_the_kernel() && !fabric.has_local_ranks();
    if oversubscribed || calls_system { 1 } else { POLLS_AT_ONCE_MAX }
}

/// Empty polls after which a wait that spins offers the core to others: where messages come over a network, since ranks of what seem to
/// be several nodes may share it. 0: it does not.
pub(crate) fn polls_per_yield(fabric: &Fabric) -> u32 {
    match (fabric.is_networked(), fabric.has_local_ranks()) {
        (false, _) => 0,
        (true, false) if fabric.polls_the_kernel() => POLLS_PER_YIELD,
        (true, _) => POLLS_PER_YIELD_NEAR,
    }
}

/// Yields before a wait sleeps.
pub(crate) fn yields_max(cores: &CoreBudget) -> u32 {
    if !cores.is_oversubscribed() {
        return YIELDS_MAX;
    }
    if cores.ranks_per_core() <= 2 { PAIRED_YIELDS_MAX } else { OVERSUBSCRIBED_YIELDS_MAX }
}
