//! Binding ranks to processors of this host.

use std::collections::BTreeSet;

use rustix::thread::{CpuSet, sched_setaffinity};
use tern_job::ranges;
use tern_job::topology::{Level, MachineTopology, node_of_device, own_processors};

use crate::plan::bind::Bind;
use crate::plan::layout::{ProcessorLayout, lay_out};
use crate::watch::exit_cause::Refusal;

/// Where the ranks of this host may run.
#[derive(Debug)]
pub(crate) struct Binding {
    /// Where `mpirun` may run, and ranks that are not bound.
    own: Vec<u32>,
    /// What is known of these processors; nothing, where ranks are not bound.
    host: MachineTopology,
    layout: ProcessorLayout,
}

impl Binding {
    /// Divides the processors that `mpirun` itself may use among these ranks.
    pub(crate) fn new(bind: &Bind, ranks: &[u32]) -> Result<Binding, Refusal> {
        let own = own_processors();
        if bind.to.is_none() && bind.cpus.is_empty() && bind.lists.is_empty() && bind.by_rank.is_empty() {
            return Ok(Binding { own, host: MachineTopology::default(), layout: ProcessorLayout::default() });
        }
        let host = MachineTopology::here();
        let layout = lay_out(&host, bind, ranks, node_of_device)?;
        Ok(Binding { own, host, layout })
    }

    /// Whether ranks are bound.
    pub(crate) fn is_bound(&self) -> bool {
        !self.layout.sets.is_empty()
    }

    /// What is to be said about it.
    pub(crate) fn remarks(&self) -> &[String] {
        &self.layout.remarks
    }

    /// Processors that the ranks can use together.
    pub(crate) fn processors(&self) -> u32 {
        let bound: BTreeSet<u32> = self.layout.sets.iter().flatten().copied().collect();
        if bound.is_empty() { self.own.len() as u32 } else { bound.len() as u32 }
    }

    /// Makes the processes that are started next run where the rank with this index on this host belongs: they inherit it.
    pub(crate) fn apply(&self, index: u32) -> Result<(), Refusal> {
        if !self.is_bound() {
            return Ok(());
        }
        sched_setaffinity(None, &mask(self.of(index)))
            .map_err(|error| Refusal::system(&format!("cannot bind rank {index} of this host"), error))
    }

    /// Makes `mpirun` run where it ran before.
    pub(crate) fn restore(&self) {
        if self.is_bound() {
            let _ = sched_setaffinity(None, &mask(&self.own));
        }
    }

    /// Where a rank may run, in words.
    pub(crate) fn describe(&self, index: u32) -> String {
        let set = self.of(index);
        if !self.is_bound() {
            return format!("not bound: may run on {}", processors(set));
        }
        format!("bound to {} ({})", self.parts(set), processors(set))
    }

    /// The parts of the host that make up a set of processors.
    fn parts(&self, set: &[u32]) -> String {
        let touched = |level| -> Vec<u32> {
            let parts = self.host.parts(level);
            (0..)
                .zip(&parts)
                .filter(|(_, part)| part.iter().any(|number| set.contains(number)))
                .map(|(nth, _)| nth)
                .collect()
        };
        let cores = touched(Level::Core);
        let threads: usize =
            cores.iter().map(|&core| self.host.parts(Level::Core)[core as usize].len()).sum();
        let of_cores = if threads > set.len() { "part of " } else { "" };
        format!("{}, {of_cores}{}", counted("socket", &touched(Level::Socket)), counted("core", &cores))
    }

    fn of(&self, index: u32) -> &[u32] {
        match self.layout.sets.len() {
            0 => &self.own,
            count => &self.layout.sets[index as usize % count],
        }
    }
}

/// `core 3`, or `cores 0-3`.
fn counted(what: &str, numbers: &[u32]) -> String {
    format!("{what}{} {}", if numbers.len() == 1 { "" } else { "s" }, ranges::to_text(numbers))
}

fn processors(set: &[u32]) -> String {
    let mut set = set.to_vec();
    set.sort_unstable();
    counted("processor", &set)
}

/// Processors beyond those that a mask of the usual size has cannot be said.
fn mask(set: &[u32]) -> CpuSet {
    let mut mask = CpuSet::new();
    set.iter()
        .filter(|number| (**number as usize) < CpuSet::MAX_CPU)
        .for_each(|number| mask.set(*number as usize));
    mask
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_described() {
        let host = MachineTopology::read(std::path::Path::new("/nonexistent"), &[0, 1, 2, 3, 4, 5]);
        let layout = ProcessorLayout { sets: vec![vec![0, 1], vec![4]], remarks: Vec::new() };
        let binding = Binding { own: host.processors(), host, layout };
        assert_eq!(binding.describe(0), "bound to socket 0, cores 0-1 (processors 0-1)");
        assert_eq!(binding.describe(1), "bound to socket 0, core 4 (processor 4)");
        assert_eq!((binding.processors(), binding.is_bound()), (3, true));
        let free = Binding { layout: ProcessorLayout::default(), ..binding };
        assert_eq!(free.describe(1), "not bound: may run on processors 0-5");
        assert_eq!((free.processors(), free.is_bound()), (6, false));
    }

    #[test]
    fn nobody_is_bound_unasked() {
        let binding = Binding::new(&Bind::default(), &[0, 1, 2]).unwrap();
        assert!(!binding.is_bound() && binding.processors() >= 1 && binding.remarks().is_empty());
    }
}
