//! What the simulated machine is like: the LogGP parameters of each level of its network, and what computing costs.
//!
//! They come from a file in TOML, whose every key may be left out; [`Params::to_toml`] writes one with all keys:
//!
//! ```toml
//! ranks_per_core = 1
//! ranks_per_host = 64
//! hosts_per_switch = 32
//! multicast = false
//!
//! [compute]
//! call_ns = 300.0
//!
//! [[level]]
//! name = "host"
//! latency_ns = 100.0
//! gap_per_byte_ns = 0.06
//! ```

mod sizes;

pub use sizes::SizeCosts;
pub(crate) use sizes::{Cost, PriceCurve};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{Picos, picos};

/// The levels, nearest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distance {
    /// Ranks that share a core; a rank and itself.
    Core,
    /// Ranks of one node.
    Host,
    /// Machines at one switch.
    Switch,
    /// All others.
    Far,
}

impl Distance {
    /// All levels, in the order of [`Params::levels`].
    pub const ALL: [Distance; 4] = [Distance::Core, Distance::Host, Distance::Switch, Distance::Far];

    /// What parameter files call it.
    pub fn name(self) -> &'static str {
        ["core", "host", "switch", "far"][self as usize]
    }
}

/// A machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Ranks that share a core. More than one compute by turns; what it costs to switch between them is for the level
    /// `core` to say.
    pub ranks_per_core: u32,
    /// Ranks of one node, which follow each other.
    pub ranks_per_host: u32,
    /// Machines at one switch.
    pub hosts_per_switch: u32,
    /// Machines can be reached by multicast.
    pub multicast: bool,
    /// What a rank's own work costs.
    pub compute: Compute,
    /// What the memory costs that ranks of one node share.
    pub shm_comm: LineCosts,
    /// What files cost.
    pub storage: StorageCosts,
    /// What messages cost, by [`Distance`].
    pub levels: [LevelCosts; 4],
}

/// What files cost, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StorageCosts {
    /// One call of the system's.
    pub call_ns: f64,
    /// Writing, for each byte of one rank.
    pub write_per_byte_ns: f64,
    /// Reading, likewise.
    pub read_per_byte_ns: f64,
    /// What the file system takes for each byte of all ranks together; 0: it is as fast as all of them.
    pub shared_per_byte_ns: f64,
}

impl StorageCosts {
    /// What a byte takes a rank.
    pub fn per_byte_ns(&self, writes: bool) -> f64 {
        if writes { self.write_per_byte_ns } else { self.read_per_byte_ns }
    }
}

impl Default for StorageCosts {
    /// A file in the page cache.
    fn default() -> Self {
        StorageCosts {
            call_ns: 500.0,
            write_per_byte_ns: 0.2,
            read_per_byte_ns: 0.12,
            shared_per_byte_ns: 0.0,
        }
    }
}

/// What a rank's own work costs, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Compute {
    /// To begin a collective: checks of arguments, building the schedule, returning.
    pub call_ns: f64,
    /// One step of a schedule.
    pub step_ns: f64,
    /// Combining two operands, for each byte of one.
    pub reduce_per_byte_ns: f64,
    /// Copying, for each byte.
    pub copy_per_byte_ns: f64,
    /// Bytes of an operand or message up to which those prices hold, and those of copies from another rank's memory. What it
    /// is longer by is in no near cache, and has the prices called "far".
    pub cache_bytes: u64,
    /// Combining beyond that, for each byte.
    pub reduce_far_per_byte_ns: f64,
    /// Copying beyond that.
    pub copy_far_per_byte_ns: f64,
}

/// What lines cost that pass between the cores of one node, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LineCosts {
    /// What a barrier takes a rank beside the waiting.
    pub come_ns: f64,
    /// From the store of a flag until another core, which watches it, has read it.
    pub exchange_ns: f64,
    /// What it takes longer that data lie beside the flag, for their first line.
    pub lines_ns: f64,
    /// Writing lines that another core has, for each byte of up to [`SHM_NEAR_BYTES`] at once.
    pub store_per_byte_ns: f64,
    /// Reading lines that another core has written, likewise.
    pub load_per_byte_ns: f64,
    /// Writing them, for each further byte: the processor then asks for lines ahead.
    pub store_long_per_byte_ns: f64,
    /// Reading them, likewise.
    pub load_long_per_byte_ns: f64,
}

/// Bytes that are written or read at once before the processor has seen that they follow each other, and asks for lines ahead.
pub const SHM_NEAR_BYTES: u64 = 8 * 1024;

/// Bytes of a message that lie in the nearest cache of the side that has just written them, from where they come more slowly.
pub const COOPERATIVE_NEAR_BYTES: u64 = 64 * 1024;

impl LineCosts {
    /// The price of writing what others have.
    pub(crate) fn store(&self) -> Price {
        Price::new(self.store_per_byte_ns, self.store_long_per_byte_ns, SHM_NEAR_BYTES)
    }

    /// The price of reading what others have written.
    pub(crate) fn load(&self) -> Price {
        Price::new(self.load_per_byte_ns, self.load_long_per_byte_ns, SHM_NEAR_BYTES)
    }
}

/// What messages cost at one level: the parameters of LogGP, and those of copies without an active message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LevelCosts {
    /// `core`, `host`, `switch` or `far`.
    pub name: String,
    /// L: from the end of sending to the beginning of arrival.
    pub latency_ns: f64,
    /// o at the sender: its core is busy for so long with each message.
    pub overhead_send_ns: f64,
    /// o at the receiver.
    pub overhead_receive_ns: f64,
    /// g: least time between two messages of one rank, or of one node between nodes.
    pub gap_ns: f64,
    /// Time per byte for which the sender's core is busy: it stores the lines of a message itself.
    pub send_per_byte_ns: f64,
    /// Time per byte for which the receiver's core is busy. One that waits reads lines while they come, so it counts only
    /// where the receiver comes late.
    pub receive_per_byte_ns: f64,
    /// What a message takes longer that does not fit into one line, beside its bytes: the receiver waits for the lines.
    pub lines_ns: f64,
    /// G: time per byte of a message that is sent.
    pub gap_per_byte_ns: f64,
    /// Bytes of the largest message that is sent without asking the receiver.
    pub eager_bytes_max: usize,
    /// It is, even if the receiver could get it, since it is there sooner so. Collectives over shared memory then leave long
    /// blocks to messages, too.
    #[serde(alias = "sends")]
    pub prefers_send: bool,
    /// Longer messages are sent in pieces of so many bytes, rather than got or copied by both sides.
    pub streams: bool,
    /// The receiver can get a large message from the sender's memory.
    pub get: bool,
    /// Time to begin getting.
    pub get_ns: f64,
    /// Time per byte of a get.
    pub get_per_byte_ns: f64,
    /// Time per byte beyond [`Compute::cache_bytes`].
    pub get_far_per_byte_ns: f64,
    /// Both sides can copy one large message at once.
    pub cooperative: bool,
    /// What that takes beside the calls and the bytes, of [`COOPERATIVE_NEAR_BYTES`] and more; proportionally less of fewer: what lies
    /// in the nearest cache of the other side comes more slowly, and the lines by which the sides divide the message go to and
    /// fro.
    pub cooperative_ns: f64,
    /// Time per byte while both sides copy.
    pub cooperative_per_byte_ns: f64,
    /// Time per byte beyond [`Compute::cache_bytes`].
    pub cooperative_far_per_byte_ns: f64,
    /// What messages at once take, by their size, where that was measured. There `lines_ns` does not count, and what is said for
    /// each byte counts for those beyond the largest of these sizes; G, as always, for the links.
    pub size: Vec<SizeCosts>,
}

/// No time is as long.
const TIME_NS_END: f64 = 1e12;

/// Why parameters cannot be used.
#[derive(Debug, Error)]
pub enum ParamsError {
    /// The file could not be read.
    #[error("cannot read {0}: {1}")]
    Unreadable(String, std::io::Error),
    /// It is no TOML, or has keys that nobody knows.
    #[error("cannot understand the parameters: {0}")]
    Syntax(#[from] toml::de::Error),
    /// A level that does not exist.
    #[error("there is no level '{0}'; the levels are core, host, switch and far")]
    Level(String),
    /// A number that makes no sense.
    #[error("{0} is {1}; it must be {2}")]
    Value(String, f64, &'static str),
    /// Sizes of a level that do not ascend.
    #[error("the sizes of level {0} must ascend, and be at most {1}")]
    Sizes(String, usize),
}

/// Ethernet of 25 Gbit/s between machines of 64 cores, 32 at a switch. The numbers of level `host` are what was measured
/// on the two cores that Tern is tested on, when they were quiet (docs/performance,
/// docs/decisions); those between machines are a guess, for `--params` to replace.
impl Default for Params {
    fn default() -> Self {
        Params {
            ranks_per_core: 1,
            ranks_per_host: 64,
            hosts_per_switch: 32,
            multicast: false,
            compute: Compute::default(),
            storage: StorageCosts::default(),
            shm_comm: LineCosts::default(),
            levels: [core(), host(), network("switch", 8000.0), network("far", 12000.0)],
        }
    }
}

impl Default for Compute {
    fn default() -> Self {
        Compute {
            call_ns: 300.0,
            step_ns: 10.0,
            reduce_per_byte_ns: 0.035,
            copy_per_byte_ns: 0.032,
            cache_bytes: 256 * 1024,
            reduce_far_per_byte_ns: 0.1,
            copy_far_per_byte_ns: 0.1,
        }
    }
}

impl Default for LineCosts {
    fn default() -> Self {
        LineCosts {
            come_ns: 30.0,
            exchange_ns: 130.0,
            lines_ns: 110.0,
            store_per_byte_ns: 0.1,
            load_per_byte_ns: 0.1,
            store_long_per_byte_ns: 0.06,
            load_long_per_byte_ns: 0.06,
        }
    }
}

impl Compute {
    /// Work that takes no time.
    pub const NOTHING: Compute = Compute {
        call_ns: 0.0,
        step_ns: 0.0,
        reduce_per_byte_ns: 0.0,
        copy_per_byte_ns: 0.0,
        cache_bytes: 0,
        reduce_far_per_byte_ns: 0.0,
        copy_far_per_byte_ns: 0.0,
    };

    /// The price of combining operands.
    pub(crate) fn reduce(&self) -> Price {
        Price::new(self.reduce_per_byte_ns, self.reduce_far_per_byte_ns, self.cache_bytes)
    }

    /// The price of copying.
    pub(crate) fn copy(&self) -> Price {
        Price::new(self.copy_per_byte_ns, self.copy_far_per_byte_ns, self.cache_bytes)
    }
}

fn host() -> LevelCosts {
    LevelCosts {
        name: "host".into(),
        latency_ns: 100.0,
        overhead_send_ns: 30.0,
        overhead_receive_ns: 40.0,
        gap_ns: 20.0,
        send_per_byte_ns: 0.1,
        receive_per_byte_ns: 0.1,
        lines_ns: 30.0,
        gap_per_byte_ns: 0.13,
        eager_bytes_max: 16 * 1024,
        prefers_send: false,
        streams: false,
        get: true,
        get_ns: 550.0,
        get_per_byte_ns: 0.045,
        get_far_per_byte_ns: 0.06,
        cooperative: true,
        cooperative_ns: 0.0,
        cooperative_per_byte_ns: 0.023,
        cooperative_far_per_byte_ns: 0.03,
        size: Vec::new(),
    }
}

/// The receiver runs when the sender sleeps: about 2 µs for the switch.
fn core() -> LevelCosts {
    LevelCosts {
        name: "core".into(),
        latency_ns: 0.0,
        overhead_receive_ns: 2000.0,
        cooperative: false,
        ..host()
    }
}

/// Sockets: the kernel's work on both sides, then the wire.
fn network(name: &str, latency_ns: f64) -> LevelCosts {
    LevelCosts {
        name: name.into(),
        latency_ns,
        overhead_send_ns: 1500.0,
        overhead_receive_ns: 1500.0,
        gap_ns: 300.0,
        send_per_byte_ns: 0.0,
        receive_per_byte_ns: 0.0,
        lines_ns: 0.0,
        gap_per_byte_ns: 0.32,
        eager_bytes_max: 16 * 1024,
        prefers_send: false,
        streams: false,
        get: false,
        get_ns: 2.0 * latency_ns,
        get_per_byte_ns: 0.32,
        get_far_per_byte_ns: 0.32,
        cooperative: false,
        cooperative_ns: 0.0,
        cooperative_per_byte_ns: 0.32,
        cooperative_far_per_byte_ns: 0.32,
        size: Vec::new(),
    }
}

/// The file as it is read: what is not there is `None`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ParamsFile {
    ranks_per_core: Option<u32>,
    ranks_per_host: Option<u32>,
    hosts_per_switch: Option<u32>,
    multicast: Option<bool>,
    compute: Option<Compute>,
    #[serde(alias = "team")]
    shm_comm: Option<LineCosts>,
    storage: Option<StorageCosts>,
    #[serde(default)]
    level: Vec<toml::Table>,
}

/// The file as it is written.
#[derive(Serialize)]
struct WrittenParams<'a> {
    ranks_per_core: u32,
    ranks_per_host: u32,
    hosts_per_switch: u32,
    multicast: bool,
    compute: Compute,
    shm_comm: LineCosts,
    storage: StorageCosts,
    level: &'a [LevelCosts],
}

impl Params {
    /// Reads a parameter file; keys that it leaves out are as in [`Params::default`].
    pub fn read(path: &std::path::Path) -> Result<Params, ParamsError> {
        let unreadable = |error| ParamsError::Unreadable(path.display().to_string(), error);
        Params::parse(&std::fs::read_to_string(path).map_err(unreadable)?)
    }

    /// Reads the text of a parameter file.
    pub fn parse(text: &str) -> Result<Params, ParamsError> {
        let file: ParamsFile = toml::from_str(text)?;
        let mut params = Params::default();
        params.ranks_per_core = file.ranks_per_core.unwrap_or(params.ranks_per_core);
        params.ranks_per_host = file.ranks_per_host.unwrap_or(params.ranks_per_host);
        params.hosts_per_switch = file.hosts_per_switch.unwrap_or(params.hosts_per_switch);
        params.multicast = file.multicast.unwrap_or(params.multicast);
        params.compute = file.compute.unwrap_or(params.compute);
        params.shm_comm = file.shm_comm.unwrap_or(params.shm_comm);
        params.storage = file.storage.unwrap_or(params.storage);
        for changed in file.level {
            params.change(changed)?;
        }
        params.check()?;
        Ok(params)
    }

    /// Changes the keys of one level that a file names.
    fn change(&mut self, changed: toml::Table) -> Result<(), ParamsError> {
        let name = changed.get("name").and_then(toml::Value::as_str).unwrap_or_default().to_owned();
        let known = self.levels.iter_mut().find(|level| level.name == name);
        let level = known.ok_or(ParamsError::Level(name))?;
        let mut all = toml::Table::try_from(&*level).expect("a level is a table");
        for (key, value) in changed {
            // Whole numbers are numbers too.
            let real = matches!(all.get(&key), Some(toml::Value::Float(_)));
            let value = match value {
                toml::Value::Integer(number) if real => toml::Value::Float(number as f64),
                other => other,
            };
            all.insert(key, value);
        }
        *level = all.try_into()?;
        Ok(())
    }

    /// A file with all keys.
    pub fn to_toml(&self) -> String {
        let Params {
            ranks_per_core,
            ranks_per_host,
            hosts_per_switch,
            multicast,
            compute,
            shm_comm,
            storage,
            ..
        } = *self;
        let level = &self.levels;
        let file = WrittenParams {
            ranks_per_core,
            ranks_per_host,
            hosts_per_switch,
            multicast,
            compute,
            shm_comm,
            storage,
            level,
        };
        toml::to_string(&file).expect("parameters are numbers and words")
    }

    /// Whether all numbers can be used.
    pub fn check(&self) -> Result<(), ParamsError> {
        let counts = [
            ("ranks_per_core", self.ranks_per_core),
            ("ranks_per_host", self.ranks_per_host),
            ("hosts_per_switch", self.hosts_per_switch),
        ];
        for (name, count) in counts {
            if count == 0 {
                return Err(ParamsError::Value(name.into(), 0.0, "at least 1"));
            }
        }
        self.levels.iter().try_for_each(sizes::check)?;
        self.times().try_for_each(|(name, time)| {
            let sensible = (0.0..TIME_NS_END).contains(&time);
            sensible.then_some(()).ok_or(ParamsError::Value(name, time, "from 0 to 10^12"))
        })
    }

    fn times(&self) -> impl Iterator<Item = (String, f64)> {
        let Compute { call_ns, step_ns, reduce_per_byte_ns, copy_per_byte_ns, .. } = self.compute;
        let far = [self.compute.reduce_far_per_byte_ns, self.compute.copy_far_per_byte_ns];
        let computing = [call_ns, step_ns, reduce_per_byte_ns, copy_per_byte_ns].into_iter().chain(far);
        let of_level = |level: &LevelCosts| {
            let times = [
                level.latency_ns,
                level.overhead_send_ns,
                level.overhead_receive_ns,
                level.gap_ns,
                level.send_per_byte_ns,
                level.receive_per_byte_ns,
                level.lines_ns,
                level.gap_per_byte_ns,
                level.get_ns,
                level.get_per_byte_ns,
                level.get_far_per_byte_ns,
                level.cooperative_ns,
                level.cooperative_per_byte_ns,
                level.cooperative_far_per_byte_ns,
            ];
            let sizes = level.size.iter().flat_map(SizeCosts::times);
            let named = |time| (format!("a time of level {}", level.name), time);
            times.into_iter().chain(sizes).map(named).collect::<Vec<_>>()
        };
        let LineCosts { come_ns, exchange_ns, lines_ns, store_per_byte_ns, load_per_byte_ns, .. } =
            self.shm_comm;
        let long = [self.shm_comm.store_long_per_byte_ns, self.shm_comm.load_long_per_byte_ns];
        let lines =
            [come_ns, exchange_ns, lines_ns, store_per_byte_ns, load_per_byte_ns].into_iter().chain(long);
        let computing = computing.map(|time| ("a time of [compute]".to_owned(), time));
        let lines = lines.map(|time| ("a time of [shm_comm]".to_owned(), time));
        let StorageCosts { call_ns, write_per_byte_ns, read_per_byte_ns, shared_per_byte_ns } = self.storage;
        let storage = [call_ns, write_per_byte_ns, read_per_byte_ns, shared_per_byte_ns].into_iter();
        let storage = storage.map(|time| ("a time of [storage]".to_owned(), time));
        let lines = lines.chain(storage);
        computing.chain(lines).chain(self.levels.iter().flat_map(of_level).collect::<Vec<_>>())
    }

    /// The level of a distance.
    pub fn level(&mut self, distance: Distance) -> &mut LevelCosts {
        &mut self.levels[distance as usize]
    }
}

/// A [`LevelCosts`] in the units of the simulation.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    pub(crate) latency: Picos,
    pub(crate) send: Picos,
    pub(crate) receive: Picos,
    pub(crate) gap: Picos,
    pub(crate) per_byte: f64,
    pub(crate) get: Picos,
    pub(crate) get_bytes: Price,
    pub(crate) cooperative: Picos,
    pub(crate) cooperative_bytes: Price,
    pub(crate) streams: bool,
    pub(crate) limits: tern_transport::Limits,
}

impl Costs {
    /// The costs of a level.
    pub fn of(level: &LevelCosts, cache_bytes: u64) -> Costs {
        let &LevelCosts { eager_bytes_max, prefers_send, get, cooperative, .. } = level;
        Costs {
            latency: picos(level.latency_ns),
            send: picos(level.overhead_send_ns),
            receive: picos(level.overhead_receive_ns),
            gap: picos(level.gap_ns),
            per_byte: level.gap_per_byte_ns * 1000.0,
            get: picos(level.get_ns),
            get_bytes: Price::new(level.get_per_byte_ns, level.get_far_per_byte_ns, cache_bytes),
            cooperative: picos(level.cooperative_ns),
            cooperative_bytes: Price::new(
                level.cooperative_per_byte_ns,
                level.cooperative_far_per_byte_ns,
                cache_bytes,
            ),
            streams: level.streams,
            limits: tern_transport::Limits {
                eager_bytes_max,
                get,
                put: false,
                cooperative_copy: cooperative,
                prefers_send,
            },
        }
    }
}

/// What bytes cost of something that may be longer than a cache.
#[derive(Clone, Copy, Debug)]
pub struct Price {
    near: f64,
    far: f64,
    cache_bytes: u64,
}

impl Price {
    fn new(near_ns: f64, far_ns: f64, cache_bytes: u64) -> Price {
        Price { near: near_ns * 1000.0, far: far_ns * 1000.0, cache_bytes }
    }

    /// Of all bytes together.
    pub(crate) fn of(self, bytes: u64) -> Picos {
        let near = bytes.min(self.cache_bytes);
        times(near, self.near) + times(bytes - near, self.far)
    }
}

/// What so many bytes take at a price per byte.
pub(crate) fn times(bytes: u64, per_byte: f64) -> Picos {
    (bytes as f64 * per_byte) as Picos
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let mut params = Params { ranks_per_host: 3, ..Params::default() };
        params.level(Distance::Far).latency_ns = 77.5;
        assert_eq!(Params::parse(&params.to_toml()).unwrap(), params);
    }

    #[test]
    fn what_is_longer_than_a_cache_costs_more() {
        let price = Price::new(1.0, 3.0, 100);
        assert_eq!(
            [0, 40, 100, 101, 200].map(|bytes| price.of(bytes)),
            [0, 40_000, 100_000, 103_000, 400_000]
        );
    }

    #[test]
    fn what_a_file_leaves_out_stays() {
        let params =
            Params::parse("[[level]]\nname = \"host\"\nlatency_ns = 7\n[compute]\nstep_ns = 1.0").unwrap();
        assert_eq!((params.levels[1].latency_ns, params.compute.step_ns), (7.0, 1.0));
        assert_eq!(params.levels[1].gap_ns, host().gap_ns);
        assert_eq!(Params::parse("").unwrap(), Params::default());
    }

    #[test]
    fn files_of_earlier_versions_are_read() {
        let text = Params::default().to_toml();
        let former = text.replace("[shm_comm]", "[team]");
        assert_ne!(former, text);
        assert_eq!(Params::parse(&former).unwrap(), Params::default());
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        let refusal = |text: &str| Params::parse(text).unwrap_err().to_string();
        assert!(refusal("[[level]]\nname = \"moon\"").contains("'moon'"));
        assert!(refusal("ranks_per_host = 0").contains("ranks_per_host"));
        assert!(refusal("[[level]]\nname = \"far\"\nlatency_ns = -1.0").contains("far"));
        assert!(refusal("[[level]]\nname = \"far\"\nlatencyns = 1.0").contains("latencyns"));
        assert!(refusal("rank_per_host = 3").contains("rank_per_host"));
    }
}
