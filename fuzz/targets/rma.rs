//! Messages about windows, of peers that say what they like: one target for each kind. Whatever comes, nothing outside the window is
//! read or written.

use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use tern_mem::op::{PredefinedOp, reduce_slices};
use tern_mem::{Basic, ExposedMemory, Layout, UserBuf};
use tern_transport::{
    AM_INLINE_BYTES_MAX, Am, Doorbell, Full, Header, Landing, Limits, Peer, Silent, Sink, Token, Transport,
};

use crate::fuzz::driver;
pub use crate::fuzz::driver::Target;

use super::wire::{FLAG_BARE, FLAG_OPENED};
use super::*;
use crate::fuzz::input::Input;
use crate::limits::LAYOUTS_MAX;
use crate::slab::Id;
use crate::wire::{ExtendedHeader, HeaderKind};
use crate::{Engine, EngineSettings};

/// All targets of this room: each begins with messages of its kind, and others come between.
pub const TARGETS: &[Target] = &[
    Target {
        name: "rma-put",
        run: run::<{ HeaderKind::RmaPut as u8 }>,
        seeds: seeds::<{ HeaderKind::RmaPut as u8 }>,
    },
    Target {
        name: "rma-get",
        run: run::<{ HeaderKind::RmaGet as u8 }>,
        seeds: seeds::<{ HeaderKind::RmaGet as u8 }>,
    },
    Target {
        name: "rma-combine",
        run: run::<{ HeaderKind::RmaCombine as u8 }>,
        seeds: seeds::<{ HeaderKind::RmaCombine as u8 }>,
    },
    Target {
        name: "rma-fetch",
        run: run::<{ HeaderKind::RmaFetch as u8 }>,
        seeds: seeds::<{ HeaderKind::RmaFetch as u8 }>,
    },
    Target {
        name: "rma-swap",
        run: run::<{ HeaderKind::RmaSwap as u8 }>,
        seeds: seeds::<{ HeaderKind::RmaSwap as u8 }>,
    },
    Target {
        name: "rma-open",
        run: run::<{ HeaderKind::RmaOpen as u8 }>,
        seeds: seeds::<{ HeaderKind::RmaOpen as u8 }>,
    },
    Target {
        name: "rma-layout",
        run: run::<{ HeaderKind::RmaLayout as u8 }>,
        seeds: seeds::<{ HeaderKind::RmaLayout as u8 }>,
    },
    Target {
        name: "rma-sync",
        run: run::<{ HeaderKind::RmaSync as u8 }>,
        seeds: seeds::<{ HeaderKind::RmaSync as u8 }>,
    },
    Target {
        name: "rma-told",
        run: run::<{ HeaderKind::RmaTold as u8 }>,
        seeds: seeds::<{ HeaderKind::RmaTold as u8 }>,
    },
];

/// Ranks of the job; this side is rank 0.
const RANKS: u32 = 3;
/// Bytes of the window, and of the guard on each side of it.
const WINDOW: usize = 1000;
const GUARD: usize = 256;
const UNTOUCHED: u8 = 0xA5;

/// Delivers what it is given: what is long lands when the next poll comes, or later.
#[derive(Default)]
struct Wire {
    messages: VecDeque<(Peer, Header, Vec<u8>)>,
    landing: Vec<(Peer, UserBuf, usize, usize, Token, Vec<u8>)>,
    full: bool,
}

impl Transport for Wire {
    fn limits(&mut self, _: Peer) -> Limits {
        Limits { eager_bytes_max: 200, get: false, put: false, cooperative_copy: false, prefers_send: false }
    }

    fn send(&mut self, _: Peer, am: &Am<'_>) -> Result<(), Full> {
        assert!(
            am.offset.checked_add(am.len).is_some_and(|end| end <= am.body.len()),
            "sends what is not there"
        );
        self.full = !self.full;
        let mut bytes = vec![0; am.len];
        am.body.read(am.offset, &mut bytes);
        if self.full { Ok(()) } else { Err(Full) }
    }

    fn poll(&mut self, sink: &mut impl Sink) -> bool {
        if self.landing.len() > 2 || self.messages.is_empty() {
            for (from, buf, offset, len, token, bytes) in std::mem::take(&mut self.landing) {
                buf.write(offset, &bytes[..len]);
                sink.landed(from, token);
            }
        }
        let Some((from, header, payload)) = self.messages.pop_front() else { return false };
        if payload.len() <= AM_INLINE_BYTES_MAX {
            sink.short(from, &header, &payload);
        } else if let Landing::Place { buf, offset, len, token, .. } =
            sink.header(from, &header, payload.len())
        {
            assert!(len <= payload.len() && offset.checked_add(len).is_some_and(|end| end <= buf.len()));
            self.landing.push((from, buf, offset, len, token, payload));
        }
        true
    }

    fn doorbell(&self) -> Arc<dyn Doorbell> {
        Arc::new(Silent)
    }
}

/// Memory between guards, and a lock that is a number.
struct Part {
    memory: ExposedMemory,
    tickets: Cell<u64>,
    turn: Cell<u64>,
}

impl ExposedWindow for Part {
    fn contiguous(&self, at: u64, len: u64, _: bool) -> Result<UserBuf, TargetRefusal> {
        self.memory.contiguous(at, len).ok_or(TargetRefusal::Outside)
    }

    fn typed(&self, at: i64, count: u64, layout: &Arc<Layout>, _: bool) -> Result<UserBuf, TargetRefusal> {
        self.memory.typed(at, count, layout).ok_or(TargetRefusal::Outside)
    }

    fn combine(&self, there: &UserBuf, what: &CombinedElements<'_>) {
        let Combination { op, basic } = what.combination;
        let (mut mine, mut theirs) = (vec![0; what.bytes], vec![0; what.bytes]);
        there.read(what.from, &mut theirs);
        if let Some(old) = what.old {
            old.write(0, &theirs);
        }
        let Some(buffer) = what.mine else { return assert_eq!(op, PredefinedOp::NoOp) };
        buffer.read(0, &mut mine);
        if basic.is_contiguous() && op != PredefinedOp::NoOp {
            reduce_slices(op, basic, &mine, &mut theirs);
        }
        there.write(what.from, &theirs);
    }

    fn swap(&self, there: &UserBuf, basic: Basic, compared: &UserBuf, new: &UserBuf) -> UserBuf {
        assert!([there.len(), compared.len(), new.len()] == [basic.size(); 3]);
        let old = UserBuf::owned(basic.size());
        UserBuf::copy(there, 0, &old, 0, basic.size());
        UserBuf::copy(new, 0, there, 0, basic.size());
        old
    }

    fn ticket(&self, _: LockKind) -> u64 {
        self.tickets.replace(self.tickets.get() + 1)
    }

    fn enter(&self, ticket: u64, _: LockKind, _: u32) -> bool {
        assert!(ticket < self.tickets.get());
        ticket == self.turn.get()
    }

    fn newest_epoch(&self) -> u64 {
        7
    }

    fn leave(&self, _: LockKind) {
        self.turn.set(self.turn.get() + 1);
        assert!(self.turn.get() <= self.tickets.get(), "given back by who did not have it");
    }

    fn waits(&self, _: bool) {}

    fn waiters(&self) -> Vec<Peer> {
        Vec::new()
    }

    fn posted(&self, rank: u32) {
        assert!(rank > 0 && rank < RANKS);
    }

    fn completed(&self, rank: u32) {
        assert!(rank > 0 && rank < RANKS);
    }
}

/// Messages of one kind mostly, while this side accesses the windows of others.
fn run<const KIND: u8>(bytes: &[u8]) {
    let (all, memory) = ExposedMemory::guarded(WINDOW, GUARD, UNTOUCHED);
    let mut input = Input(bytes);
    let mut engine = Engine::new(RANKS, Wire::default(), EngineSettings::default());
    let window = engine.announce_window(Group::range(0, RANKS));
    let part = Part { memory, tickets: Cell::default(), turn: Cell::default() };
    engine.expose(window, WindowNumbers::same(window.raw(), RANKS), Box::new(part));
    let kept = Rc::new(all);
    let far = |rank| Far { window, rank, at: 8, shape: None };
    for step in 0..60 {
        if input.is_empty() {
            break;
        }
        let choice = input.byte();
        let how = Combination { op: PredefinedOp::Sum, basic: Basic::Int64 };
        match choice % 8 {
            0 => _ = engine.get_from(&far(1), &UserBuf::owned(64), false),
            1 => _ = engine.put_to(&far(1), &UserBuf::owned(500), step % 2 == 0),
            2 => _ = engine.fetch(&far(2), how, None, &UserBuf::owned(80), false),
            3 => engine.synchronize(window, 1, Sync::Flush),
            4 => engine.synchronize(window, 2, Sync::Lock(LockKind::Shared)),
            _ => {}
        }
        let message = message(
            &mut input,
            if choice & 0x80 == 0 { KIND } else { HeaderKind::RmaPut as u8 + (choice % 9) as u8 },
        );
        engine.transport().messages.push_back(message);
        engine.poll();
    }
    for _ in 0..50 {
        engine.poll();
    }
    assert!(!engine.is_reached(window), "everything ends that has begun");
    engine.withdraw(window);
    assert!(kept.is_untouched(), "something outside the window was written");
}

/// Rank, header and payload. Numbers of windows and requests are small, so that some exist.
fn message(input: &mut Input<'_>, kind: u8) -> (Peer, Header, Vec<u8>) {
    let from = 1 + input.byte() as u32 % (RANKS - 1);
    let header = Header {
        kind,
        flags: input.byte() as u8 & (FLAG_OPENED | FLAG_BARE),
        credits: 0,
        context: input.word().into(),
        source: input.word(),
        tag: input.word() as i32,
    };
    let len = usize::from(u16::from_le_bytes(input.array())) % 1500;
    let mut payload = input.take(len.min(96)).to_vec();
    payload.resize(len, 7);
    (from, header, payload)
}

fn says(choice: u8, flags: u8, context: u32, source: u32, tag: i32, payload: &[u8]) -> Vec<u8> {
    let head =
        [&[choice, 0, flags][..], &context.to_le_bytes(), &source.to_le_bytes(), &tag.to_le_bytes()].concat();
    [&head[..], &(payload.len() as u16).to_le_bytes(), payload].concat()
}

/// Sound messages of the kind, behind a layout and an open message that lets them be about elements.
fn seeds<const KIND: u8>() -> Vec<Vec<u8>> {
    let layout = layout_of_seeds().describe();
    let described = says(141, 0, 0, (layout.len() as u32) << LAYOUTS_MAX.trailing_zeros(), 0, &layout);
    let id = Id::from_raw(0);
    let opened = ExtendedHeader::EMPTY.with(16).with(3).with(0);
    let opened = says(149, 0, 0, 0, 1, opened.bytes());
    let sum = Combination { op: PredefinedOp::Sum, basic: Basic::Int32 }.tag();
    let (get, fetch) =
        (ExtendedHeader::EMPTY.with_id(id).with(24), ExtendedHeader::EMPTY.with_id(id).with(0).with(8));
    let own = match HeaderKind::parse(KIND) {
        Some(HeaderKind::RmaPut) => says(7, 0, 8, 0, 0, &[1; 60]),
        Some(HeaderKind::RmaGet) => says(7, FLAG_OPENED, 0, 0, 0, get.bytes()),
        Some(HeaderKind::RmaCombine) => says(7, FLAG_OPENED, 4, 0, sum, &[1; 8]),
        Some(HeaderKind::RmaFetch) => says(7, 0, 16, 0, sum, fetch.bytes()),
        Some(HeaderKind::RmaSwap) => says(7, 0, 16, 0, sum, &[0; 16]),
        Some(HeaderKind::RmaOpen) => opened.clone(),
        Some(HeaderKind::RmaLayout) => described.clone(),
        Some(HeaderKind::RmaSync) => says(7, 0, 0, 0, Sync::Lock(LockKind::Exclusive).tag(), &[0; 8]),
        _ => says(4, 0, 0, 0, 1, &[0; 16]),
    };
    let last = says(7, 0, 0, 0, Sync::Unlock(LockKind::Exclusive).tag(), &[0; 8]);
    vec![
        own.clone(),
        [described, opened, own.clone(), own.clone()].concat(),
        [own.clone(), own, last].concat(),
    ]
}

/// Three pieces of eight bytes.
fn layout_of_seeds() -> Layout {
    tern_mem::Datatype::predefined(Basic::Int64).layout().as_ref().clone()
}

#[cfg(test)]
mod tests {
    #[test]
    fn any_bytes_are_survived() {
        super::driver::bounded(super::TARGETS);
    }
}
