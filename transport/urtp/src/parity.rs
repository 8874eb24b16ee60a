//! XOR parity: a run of multicast packets with consecutive numbers is followed by one that is the exclusive or of them all. A
//! receiver that lacks one packet of the run has it then, without asking.
//!
//! The payload of a parity packet is the exclusive or of the lengths, two bytes, and that of the payloads. Its numbers are
//! those of the run's first packet.

use crate::limits::PARITY_RUN_MAX;

/// Adds a payload to a sum that begins with the lengths' sum. Bytes of `sum` beyond those written so far are 0.
pub(crate) fn add(sum: &mut [u8], payload: &[u8]) {
    let (len, bytes) = sum.split_at_mut(2);
    len.iter_mut().zip((payload.len() as u16).to_le_bytes()).for_each(|(sum, byte)| *sum ^= byte);
    xor(bytes, payload);
}

fn xor(sum: &mut [u8], bytes: &[u8]) {
    sum.iter_mut().zip(bytes).for_each(|(sum, byte)| *sum ^= byte);
}

/// What has come of the two latest runs of a sender.
#[derive(Debug)]
pub(crate) struct Runs([ParityRun; 2]);

#[derive(Debug)]
struct ParityRun {
    /// The number of the first packet; `None`: the run is not in use.
    start: Option<u64>,
    /// A bit for each packet that is in the sum.
    got: u32,
    /// How many packets there are, once the parity has come.
    len: u8,
    sum: Box<[u8]>,
}

impl Runs {
    /// For packets of up to so many bytes.
    pub(crate) fn new(payload_bytes_max: usize) -> Runs {
        let run = || ParityRun { start: None, got: 0, len: 0, sum: vec![0; payload_bytes_max + 2].into() };
        Runs([run(), run()])
    }

    /// A packet of a run has come.
    pub(crate) fn packet(&mut self, start: u64, place: u8, payload: &[u8]) {
        let Some(run) = self.run(start) else { return };
        if run.got >> place & 1 == 0 && payload.len() + 2 <= run.sum.len() {
            run.got |= 1 << place;
            add(&mut run.sum, payload);
        }
    }

    /// The parity of a run has come.
    pub(crate) fn parity(&mut self, start: u64, len: u8, sum: &[u8]) {
        let Some(run) = self.run(start) else { return };
        if run.len == 0 && sum.len() <= run.sum.len() {
            run.len = len.min(PARITY_RUN_MAX);
            xor(&mut run.sum, sum);
        }
    }

    /// The number and payload of the one packet that a run lacks. Said once.
    pub(crate) fn restore(&mut self, start: u64) -> Option<(u64, &[u8])> {
        let run = self.0.iter_mut().find(|run| run.start == Some(start) && run.len > 0)?;
        let lacking = !run.got & (u32::MAX >> (32 - u32::from(run.len)));
        if lacking.count_ones() != 1 {
            return None;
        }
        run.got |= lacking;
        let len = usize::from(u16::from_le_bytes([run.sum[0], run.sum[1]]));
        let payload = run.sum[2..].get(..len)?;
        Some((start + u64::from(lacking.trailing_zeros()), payload))
    }

    /// The run that begins at `start`; a new one takes the place of the older. `None`: it is older than both.
    fn run(&mut self, start: u64) -> Option<&mut ParityRun> {
        if let Some(at) = self.0.iter().position(|run| run.start == Some(start)) {
            return Some(&mut self.0[at]);
        }
        let oldest = self.0.iter_mut().min_by_key(|run| run.start)?;
        if oldest.start > Some(start) {
            return None;
        }
        (oldest.start, oldest.got, oldest.len) = (Some(start), 0, 0);
        oldest.sum.fill(0);
        Some(oldest)
    }
}

const _: () = assert!(PARITY_RUN_MAX <= 32);

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: [&[u8]; 4] = [b"one", b"second", b"", b"of four"];

    fn sum() -> [u8; 10] {
        let mut sum = [0; 10];
        RUN.iter().for_each(|payload| add(&mut sum, payload));
        sum
    }

    #[test]
    fn one_lacking_packet_is_restored_once_in_any_order() {
        for (lacking, payload) in RUN.into_iter().enumerate() {
            for parity_at in 0..4 {
                let mut runs = Runs::new(16);
                for (place, payload) in RUN.iter().enumerate() {
                    if place == parity_at {
                        runs.parity(70, 4, &sum());
                    }
                    if place != lacking {
                        runs.packet(70, place as u8, payload);
                    }
                }
                assert_eq!(runs.restore(70), Some((70 + lacking as u64, payload)));
                assert_eq!(runs.restore(70), None);
            }
        }
    }

    #[test]
    fn two_lacking_packets_are_not_restored() {
        let mut runs = Runs::new(16);
        runs.packet(70, 0, RUN[0]);
        runs.packet(70, 1, RUN[1]);
        runs.parity(70, 4, &sum());
        assert_eq!(runs.restore(70), None);
        runs.packet(70, 3, RUN[3]);
        assert_eq!(runs.restore(70), Some((72, RUN[2])));
    }

    #[test]
    fn only_the_two_latest_runs_are_kept() {
        let mut runs = Runs::new(16);
        for start in [70, 74, 78] {
            runs.packet(start, 0, RUN[0]);
        }
        runs.packet(70, 1, RUN[1]);
        runs.packet(74, 1, RUN[1]);
        runs.packet(74, 3, RUN[3]);
        for start in [70, 74] {
            runs.parity(start, 4, &sum());
        }
        assert_eq!(runs.restore(70), None);
        assert_eq!(runs.restore(74), Some((76, RUN[2])));
    }

    #[test]
    fn a_sum_that_gives_a_length_that_cannot_be_restores_nothing() {
        let mut runs = Runs::new(16);
        runs.packet(70, 0, RUN[0]);
        runs.parity(70, 2, &[0xFF; 10]);
        assert_eq!(runs.restore(70), None);
    }
}
