//! What the threads of this process that have slept long wait for.

use super::waiting::Waiting;

/// Waits of threads that have slept long, the longest first.
#[derive(Debug, Default)]
pub(crate) struct Asleep {
    pub(super) waits: Vec<Wait>,
    /// The number of the next.
    next: u64,
}

#[derive(Debug)]
pub(super) struct Wait {
    number: u64,
    /// On the clock of [`tern_job::now_ns`].
    pub(super) since_ns: u64,
    /// Since when nothing has come.
    pub(super) still_ns: u64,
    pub(super) waiting: Waiting,
}

impl Asleep {
    /// Nobody's.
    pub(crate) const fn new() -> Self {
        Asleep { waits: Vec::new(), next: 0 }
    }

    pub(super) fn begin(&mut self, waiting: Waiting, since_ns: u64, still_ns: u64) -> u64 {
        let number = self.next;
        self.next += 1;
        let at = self.waits.partition_point(|wait| wait.since_ns <= since_ns);
        self.waits.insert(at, Wait { number, since_ns, still_ns, waiting });
        number
    }

    pub(super) fn end(&mut self, number: u64) {
        self.waits.retain(|wait| wait.number != number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(asleep: &Asleep) -> Vec<&str> {
        asleep.waits.iter().map(|wait| wait.waiting.call).collect()
    }

    #[test]
    fn the_longest_comes_first_and_who_is_woken_goes() {
        let mut asleep = Asleep::new();
        let begin = |asleep: &mut Asleep, call, since_ns| asleep.begin(Waiting::on(call), since_ns, since_ns);
        let receive = begin(&mut asleep, "MPI_Recv", 20);
        let barrier = begin(&mut asleep, "MPI_Barrier", 10);
        begin(&mut asleep, "MPI_Wait", 30);
        assert_eq!(calls(&asleep), ["MPI_Barrier", "MPI_Recv", "MPI_Wait"]);
        asleep.end(barrier);
        assert_eq!(calls(&asleep), ["MPI_Recv", "MPI_Wait"]);
        asleep.end(receive);
        assert_eq!(calls(&asleep), ["MPI_Wait"]);
    }
}
