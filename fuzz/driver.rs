//! What a fuzz target is, and the bounded run of all targets of a room in `cargo test`: valid inputs, mutated at random from a
//! fixed seed. Each room that decodes bytes from outside includes this file beside its targets.

#![allow(unreachable_pub, reason = "rooms include this file, and the fuzzer is a crate of its own")]

#[cfg(test)]
use std::time::{Duration, Instant};

/// Something that must survive any bytes.
pub struct Target {
    /// What it decodes.
    pub name: &'static str,
    /// Decodes the bytes, and checks what came of them.
    pub run: fn(&[u8]),
    /// Valid inputs, from which others are made.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// Runs each target on its seeds and on what is made of them, until it has had enough executions or time.
#[cfg(test)]
pub fn bounded(targets: &[Target]) {
    const EXECUTIONS_MAX: u64 = 20_000;
    /// However slow the machine is.
    const EXECUTIONS_MIN: u64 = 200;
    const TIME_MAX: Duration = Duration::from_millis(250);
    let seed = std::env::var("TERN_FUZZ_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    for target in targets {
        let seeds = (target.seeds)();
        assert!(!seeds.is_empty(), "{} has no seeds", target.name);
        seeds.iter().for_each(|input| run(target, input));
        let (began, mut mutator) = (Instant::now(), Mutator(fastrand::Rng::with_seed(seed)));
        for execution in 0..EXECUTIONS_MAX {
            if execution > EXECUTIONS_MIN && began.elapsed() > TIME_MAX {
                break;
            }
            run(target, &mutator.mutated(&seeds));
        }
    }
}

#[cfg(test)]
fn run(target: &Target, input: &[u8]) {
    let _told = Told(target.name, input);
    (target.run)(input);
}

/// Shows the input with which a target fails.
#[cfg(test)]
struct Told<'a>(&'a str, &'a [u8]);

#[cfg(test)]
impl Drop for Told<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("target {} fails with {:?}", self.0, self.1);
        }
    }
}

/// Makes inputs from valid ones.
#[cfg(test)]
struct Mutator(fastrand::Rng);

#[cfg(test)]
impl Mutator {
    /// A number below `end`, or 0.
    fn below(&mut self, end: usize) -> usize {
        self.0.usize(..end.max(1))
    }

    fn mutated(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = seeds[self.below(seeds.len())].clone();
        for _ in 0..=self.below(5) {
            self.mutate(&mut bytes, seeds);
        }
        bytes
    }

    fn mutate(&mut self, bytes: &mut Vec<u8>, seeds: &[Vec<u8>]) {
        let at = self.below(bytes.len() + 1);
        let end = at + self.below(bytes.len() + 1 - at);
        match self.below(8) {
            0 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
            1 if at < bytes.len() => bytes[at] = self.0.u8(..),
            2 => self.write_number(bytes, at),
            3 => bytes.truncate(at),
            4 => drop(bytes.drain(at..end)),
            5 => {
                let copy = bytes[at..end].to_vec();
                bytes.splice(at..at, copy);
            }
            6 => {
                let other = &seeds[self.below(seeds.len())];
                let from = self.below(other.len() + 1);
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
            _ => {
                let more: Vec<u8> = (0..self.below(12)).map(|_| self.0.u8(..)).collect();
                bytes.splice(at..at, more);
            }
        }
    }

    /// One of the numbers at which sums overflow and bounds end.
    fn write_number(&mut self, bytes: &mut [u8], at: usize) {
        let numbers =
            [0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff, u64::MAX >> 1, u64::MAX];
        let number = numbers[self.below(numbers.len())].wrapping_add(self.below(3) as u64).wrapping_sub(1);
        let width = 1 << self.below(4);
        for (to, byte) in bytes.iter_mut().skip(at).zip(number.to_le_bytes().into_iter().take(width)) {
            *to = byte;
        }
    }
}
