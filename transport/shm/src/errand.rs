//! A line by which a rank asks another to access its own memory for it: a few bytes, which the other copies while it waits in a call. Whoever
//! asks waits for a moment only. If nobody has taken the errand up by then, it takes it back and goes itself, by way of the kernel.
//!
//! Whoever asks for many bytes keeps the line and asks for one part after the other; these go by a stage, memory of the owner's that
//! ranks share.
//!
//! The line is in memory that ranks share, and zero at first.

use crate::sync::{AtomicU64, Ordering};

/// Nobody uses the line.
const FREE: u64 = 0;
/// A rank has it, and writes its errand.
const CLAIMED: u64 = 1;
/// It is there for the owner of the memory.
const ASKED: u64 = 2;
/// The owner is at it.
const TAKEN: u64 = 3;
/// It is done.
const DONE: u64 = 4;
/// It is not: the bytes are not in the window.
const REFUSED: u64 = 5;

/// Words of an errand's bytes.
const DATA_WORDS: usize = 5;
/// Bytes that go with an errand at most.
pub const ERRAND_BYTES_MAX: usize = 8 * DATA_WORDS;

/// The line: its state, where the bytes are, what is asked, and the bytes that go with it.
#[derive(Clone, Copy)]
pub struct ErrandLine<'a>(pub &'a [AtomicU64]);

/// The line as long as one rank has it for its errands.
pub struct ErrandClaim<'a>(ErrandLine<'a>);

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Errand {
    /// The first byte in the owner's memory.
    pub at: u64,
    /// How many: fewer than 64 Ki.
    pub len: usize,
    /// What is done with them: a number that both sides know.
    pub action: u32,
    /// Bytes that go to the owner.
    pub sends: usize,
    /// Bytes that come back.
    pub returns: usize,
}

impl Errand {
    /// In one word; where the bytes are is another.
    fn packed(self) -> u64 {
        u64::from(self.action) << 32 | (self.returns << 24 | self.sends << 16 | self.len) as u64
    }

    /// Whatever the word is, no more bytes go with it than a line has.
    fn unpacked(at: u64, what: u64) -> Errand {
        let bytes = |shift: u32| ((what >> shift) as u8 as usize).min(ERRAND_BYTES_MAX);
        let len = what as u16 as usize;
        Errand { at, len, action: (what >> 32) as u32, sends: bytes(16), returns: bytes(24) }
    }
}

/// The bytes of an errand.
pub type ErrandBytes = [u8; ERRAND_BYTES_MAX];

impl<'a> ErrandLine<'a> {
    /// Words of a line.
    pub const WORDS: usize = 3 + DATA_WORDS;

    fn state(&self) -> &'a AtomicU64 {
        &self.0[0]
    }

    /// The line for this rank alone, unless somebody else has it.
    #[inline]
    pub fn claim(self) -> Option<ErrandClaim<'a>> {
        let state = self.state();
        let is_mine = state.load(Ordering::Relaxed) == FREE
            && state.compare_exchange(FREE, CLAIMED, Ordering::Acquire, Ordering::Relaxed).is_ok();
        is_mine.then(|| ErrandClaim(self))
    }

    /// One errand: see [`ErrandClaim::ask`]. False also if somebody else has the line.
    #[inline]
    pub fn ask(&self, errand: Errand, bytes: &mut ErrandBytes, pass: impl FnMut() -> bool) -> bool {
        self.claim().is_some_and(|mut claim| claim.ask(errand, bytes, pass))
    }

    /// Does what is asked for, if anything is: whether something was. `work` gets the bytes that go with it, puts those that come
    /// back in their place, and says whether it could be done.
    #[inline(always)]
    pub fn serve(&self, work: impl FnOnce(Errand, &mut ErrandBytes) -> bool) -> bool {
        let state = self.state();
        state.load(Ordering::Relaxed) == ASKED && self.serve_asked(work)
    }

    #[inline(never)]
    fn serve_asked(&self, work: impl FnOnce(Errand, &mut ErrandBytes) -> bool) -> bool {
        let state = self.state();
        if state.compare_exchange(ASKED, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return false;
        }
        let errand = Errand::unpacked(self.0[1].load(Ordering::Relaxed), self.0[2].load(Ordering::Relaxed));
        let mut bytes = [0; ERRAND_BYTES_MAX];
        self.load(&mut bytes, errand.sends);
        let is_done = work(errand, &mut bytes);
        if is_done {
            self.store(&bytes, errand.returns);
        }
        state.store(if is_done { DONE } else { REFUSED }, Ordering::Release);
        true
    }

    fn store(&self, bytes: &ErrandBytes, len: usize) {
        for (word, bytes) in self.0[3..].iter().zip(bytes.chunks_exact(8)).take(len.div_ceil(8)) {
            word.store(u64::from_ne_bytes(bytes.try_into().expect("eight bytes")), Ordering::Relaxed);
        }
    }

    fn load(&self, bytes: &mut ErrandBytes, len: usize) {
        for (word, bytes) in self.0[3..].iter().zip(bytes.chunks_exact_mut(8)).take(len.div_ceil(8)) {
            bytes.copy_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes());
        }
    }
}

impl ErrandClaim<'_> {
    /// Asks the owner for an access with `bytes`, and calls `pass` until it is done, as long as that says that there is time. Whether it was
    /// done; then `bytes` are what came back. If not, nothing has happened.
    #[inline]
    pub fn ask(&mut self, errand: Errand, bytes: &mut ErrandBytes, mut pass: impl FnMut() -> bool) -> bool {
        let (line, state) = (self.0, self.0.state());
        line.0[1].store(errand.at, Ordering::Relaxed);
        line.0[2].store(errand.packed(), Ordering::Relaxed);
        line.store(bytes, errand.sends);
        state.store(ASKED, Ordering::Release);
        let mut is_too_late = false;
        let end = loop {
            match state.load(Ordering::Acquire) {
                end @ (DONE | REFUSED) => break end,
                // Whoever has taken it up is soon done.
                _ if pass() || is_too_late => {}
                _ => {
                    if state.compare_exchange(ASKED, CLAIMED, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                        return false;
                    }
                    is_too_late = true;
                }
            }
        };
        if end == DONE {
            line.load(bytes, errand.returns);
        }
        end == DONE
    }
}

impl Drop for ErrandClaim<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.state().store(FREE, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const PUT: Errand = Errand { at: 3, len: 13, action: 7, sends: 13, returns: 0 };

    fn line() -> [AtomicU64; ErrandLine::WORDS] {
        std::array::from_fn(|_| AtomicU64::new(0))
    }

    #[test]
    fn what_nobody_takes_up_is_too_late() {
        let line = line();
        let (line, mut looks) = (ErrandLine(&line), 0);
        let asked = line.ask(PUT, &mut [7; ERRAND_BYTES_MAX], || {
            looks += 1;
            looks < 10
        });
        assert!(!asked && looks == 10);
        assert!(!line.serve(|_, _| panic!("nothing is asked for")));
    }

    #[test]
    fn a_line_is_one_ranks_as_long_as_it_asks() {
        let line = line();
        let line = ErrandLine(&line);
        let mut claim = line.claim().unwrap();
        assert!(line.claim().is_none());
        assert!(!line.ask(PUT, &mut [0; ERRAND_BYTES_MAX], || panic!("somebody else has the line")));
        for at in 0..3 {
            let part = Errand { at, len: 0xffff, action: 1 << 31, sends: 0, returns: 0 };
            let serve = |errand: Errand, _: &mut ErrandBytes| errand == part && at != 1;
            assert_eq!(claim.ask(part, &mut [0; ERRAND_BYTES_MAX], || line.serve(serve)), at != 1);
        }
        assert!(!claim.ask(PUT, &mut [0; ERRAND_BYTES_MAX], || false) && line.claim().is_none());
        drop(claim);
        assert!(line.claim().is_some());
    }

    #[test]
    fn no_word_makes_more_bytes_than_there_are() {
        let errand = Errand::unpacked(1, u64::MAX);
        let all = ERRAND_BYTES_MAX;
        assert_eq!(errand, Errand { at: 1, len: 0xffff, action: u32::MAX, sends: all, returns: all });
        assert_eq!(Errand::unpacked(PUT.at, PUT.packed()), PUT);
    }

    #[test]
    fn bytes_go_both_ways_and_refusals_back() {
        let line = line();
        let line = ErrandLine(&line);
        let mut bytes = [9; ERRAND_BYTES_MAX];
        let serve_put = |errand: Errand, bytes: &mut ErrandBytes| {
            assert_eq!((errand, &bytes[..13]), (PUT, &[9; 13][..]));
            true
        };
        assert!(line.ask(PUT, &mut bytes, || line.serve(serve_put)));
        let get = Errand { at: 6, len: 40, action: u32::MAX, sends: 0, returns: 40 };
        let serve_get = |errand: Errand, bytes: &mut ErrandBytes| {
            assert_eq!((errand, *bytes), (get, [0; ERRAND_BYTES_MAX]));
            bytes.fill(4);
            true
        };
        assert!(line.ask(get, &mut bytes, || line.serve(serve_get)) && bytes == [4; 40]);
        let both = Errand { at: 6, len: 8, action: 1, sends: 16, returns: 8 };
        let serve_both = |errand: Errand, bytes: &mut ErrandBytes| {
            assert_eq!((errand, &bytes[..16]), (both, &[4; 16][..]));
            bytes[..8].fill(5);
            true
        };
        assert!(line.ask(both, &mut bytes, || line.serve(serve_both)));
        assert_eq!((&bytes[..8], &bytes[8..]), (&[5; 8][..], &[4; 32][..]));
        assert!(!line.ask(get, &mut bytes, || line.serve(|_, _| false)));
        assert!(line.ask(get, &mut bytes, || line.serve(serve_get)), "the line is free again");
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use crate::sync::UnsafeCell;
    use loom::sync::Arc;
    use loom::thread;

    /// A line, the owner's memory, and a copy that goes by the kernel's way.
    struct Owner {
        line: [AtomicU64; ErrandLine::WORDS],
        memory: UnsafeCell<u64>,
    }

    impl Owner {
        fn new() -> Arc<Owner> {
            Arc::new(Owner { line: std::array::from_fn(|_| AtomicU64::new(0)), memory: UnsafeCell::new(0) })
        }
    }

    // SAFETY: `memory` is what the line guards; loom tells of any access that it does not.
    unsafe impl Send for Owner {}
    // SAFETY: as above.
    unsafe impl Sync for Owner {}

    /// Whoever asks and finds it done sees what was done; what was taken back nobody does later.
    #[test]
    fn an_errand_is_done_once() {
        loom::model(|| {
            let owner = Owner::new();
            let origin = owner.clone();
            let asks = thread::spawn(move || {
                let mut bytes = [1; ERRAND_BYTES_MAX];
                let (mut looks, errand) = (0, Errand { at: 0, len: 8, action: 0, sends: 8, returns: 0 });
                let done = ErrandLine(&origin.line).ask(errand, &mut bytes, || {
                    looks += 1;
                    thread::yield_now();
                    looks < 2
                });
                // SAFETY: the errand is done or taken back, so the owner is not at it.
                origin.memory.with_mut(|memory| unsafe {
                    assert_eq!(*memory, u64::from(done));
                    *memory += 1;
                });
                done
            });
            for _ in 0..2 {
                ErrandLine(&owner.line).serve(|errand, bytes| {
                    assert_eq!((errand.len, &bytes[..8]), (8, &[1; 8][..]));
                    // SAFETY: whoever asked waits.
                    owner.memory.with_mut(|memory| unsafe { *memory += 1 });
                    true
                });
            }
            let done = asks.join().unwrap();
            owner.memory.with(|memory| assert_eq!(unsafe { *memory }, 1 + u64::from(done)));
        });
    }

    /// Parts that go by a stage while one rank has the line: the origin uses the stage only while the owner is at none of them, and what was
    /// taken back is the origin's.
    #[test]
    fn parts_go_one_after_the_other() {
        loom::model(|| {
            let owner = Owner::new();
            let origin = owner.clone();
            let asks = thread::spawn(move || {
                let mut claim = ErrandLine(&origin.line).claim().expect("nobody else has it");
                for part in 0..2 {
                    let (mut looks, errand) =
                        (0, Errand { at: part, len: 8, action: 0, sends: 0, returns: 0 });
                    let done = claim.ask(errand, &mut [0; ERRAND_BYTES_MAX], || {
                        looks += 1;
                        thread::yield_now();
                        looks < 2
                    });
                    // SAFETY: the part is done or taken back, so the owner is not at it.
                    origin.memory.with_mut(|stage| unsafe { *stage += u64::from(!done) });
                }
            });
            for _ in 0..2 {
                ErrandLine(&owner.line).serve(|errand, _| {
                    assert!(errand.at < 2);
                    // SAFETY: whoever asked waits.
                    owner.memory.with_mut(|stage| unsafe { *stage += 1 });
                    true
                });
            }
            asks.join().unwrap();
            owner.memory.with(|stage| assert_eq!(unsafe { *stage }, 2));
        });
    }
}
