//! The network: when a packet arrives, and whether.

use fastrand::Rng;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;
use tern_urtp::{GroupId, Nanos, Reachability, WorldRank};

/// What packets meet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Weather {
    /// The part that is lost, by each receiver for itself.
    pub(crate) loss: f64,
    /// The part that comes twice.
    pub(crate) doubled: f64,
    /// How long a packet takes, and up to how much longer.
    pub(crate) delay_ns: Nanos,
    pub(crate) jitter_ns: Nanos,
    /// Bytes per second of each sender's link, if it has a limit.
    pub(crate) rate: Option<u64>,
    /// Bytes that wait before that link, at most.
    pub(crate) queue_bytes: u64,
}

impl Weather {
    /// From good to bad.
    pub(crate) fn random(random: &mut Rng) -> Self {
        Weather {
            loss: [0.0, 0.01, 0.05, 0.2][random.usize(..4)],
            doubled: [0.0, 0.1][random.usize(..2)],
            delay_ns: 20_000 + random.u64(..200_000),
            jitter_ns: [0, 50_000, 2_000_000][random.usize(..3)],
            ..Weather::default()
        }
    }
}

/// What happens.
#[derive(Clone)]
pub(crate) enum Happening {
    Arrive { from: WorldRank, to: WorldRank, group: Option<GroupId>, body: Rc<[u8]> },
    Tunnel { from: WorldRank, to: WorldRank, reachability: Reachability, body: Rc<[u8]> },
    Wake(WorldRank),
    Take(WorldRank),
    Vanish(WorldRank),
}

struct Entry(Nanos, u64, Happening);

impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> std::cmp::Ordering {
        (self.0, self.1).cmp(&(other.0, other.1))
    }
}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        (self.0, self.1) == (other.0, other.1)
    }
}
impl Eq for Entry {}

pub(crate) struct Network {
    pub(crate) now: Nanos,
    weather: Weather,
    random: fastrand::Rng,
    events: BinaryHeap<Reverse<Entry>>,
    pushed: u64,
    /// Until when each sender's link is busy.
    busy: Vec<Nanos>,
    /// Packets on the senders' links, and those that a full queue dropped.
    pub(crate) carried: u64,
    pub(crate) overflowed: u64,
}

impl Network {
    pub(crate) fn new(size: u32, weather: Weather, seed: u64) -> Network {
        Network {
            now: 0,
            weather,
            random: fastrand::Rng::with_seed(!seed),
            events: BinaryHeap::new(),
            pushed: 0,
            busy: vec![0; size as usize],
            carried: 0,
            overflowed: 0,
        }
    }

    pub(crate) fn at(&mut self, time: Nanos, event: Happening) {
        self.pushed += 1;
        self.events.push(Reverse(Entry(time.max(self.now), self.pushed, event)));
    }

    /// The next event; the time is that of it.
    pub(crate) fn next(&mut self) -> Option<Happening> {
        let Reverse(Entry(time, _, event)) = self.events.pop()?;
        self.now = time;
        Some(event)
    }

    /// A packet goes out to these receivers at once: the link carries it once.
    pub(crate) fn send(&mut self, from: WorldRank, to: &[WorldRank], group: Option<GroupId>, body: &[u8]) {
        self.carried += 1;
        let Some(leaves) = self.leaves(from, body.len() as u64 + 114) else {
            self.overflowed += 1;
            return;
        };
        let body: Rc<[u8]> = body.into();
        for &to in to {
            let copies = if self.random.f64() < self.weather.doubled { 2 } else { 1 };
            for _ in 0..copies {
                if self.random.f64() < self.weather.loss {
                    continue;
                }
                let late = self.random.u64(..self.weather.jitter_ns + 1);
                let arrives = leaves + self.weather.delay_ns + late;
                self.at(arrives, Happening::Arrive { from, to, group, body: body.clone() });
            }
        }
    }

    fn leaves(&mut self, from: WorldRank, bytes: u64) -> Option<Nanos> {
        let Some(rate) = self.weather.rate else { return Some(self.now) };
        let busy = &mut self.busy[from as usize];
        let time = |bytes: u64| bytes * 1_000_000_000 / rate;
        if busy.saturating_sub(self.now) > time(self.weather.queue_bytes) {
            return None;
        }
        *busy = (*busy).max(self.now) + time(bytes);
        Some(*busy)
    }
}
