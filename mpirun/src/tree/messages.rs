//! What `mpirun` and the agents of the other hosts say to each other.
//!
//! They talk over the standard input and output of the command that the launcher runs, so whoever can speak here has
//! been let in by the launcher: there is no port on which somebody else could. A message is a length (4 bytes,
//! little-endian) and its fields in the format of `postcard`.

use std::ffi::OsString;

use serde::{Deserialize, Serialize};
use tern_job::spawn_request::SpawnRequest;
use tern_job::status_page::RankState;
use tern_job::{JobSecret, NodeMap};

use crate::limits::MESSAGE_BYTES_MAX;
use crate::plan::bind::Bind;
use crate::plan::map_by::MapBy;
use crate::plan::{App, JobPlan, PlanSettings, StdinTo};
use crate::serve::pmi::KeyValues;
use crate::watch::deserted::Stalled;
use crate::watch::exit_cause::End;
use crate::watch::report::Standing;

/// What an agent says before its first message. What a login shell prints before it is skipped.
pub(crate) const GREETING: &[u8] = concat!("\ntern-agent ", env!("CARGO_PKG_VERSION"), "\n").as_bytes();

/// From an agent towards `mpirun`.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Up {
    /// The ranks of a host run, as these processes.
    Started { host: u32, pids: Vec<u32> },
    /// A host cannot run its ranks.
    Refused { host: u32, message: String, status: u8 },
    /// The agent of a host cannot be reached, or is gone.
    Lost { host: u32, reason: String },
    /// A rank has written something: whole lines, or what there is of one.
    Output { rank: u32, error: bool, bytes: Vec<u8> },
    /// A line of an agent's own.
    Say(String),
    /// What a rank has done: a name and a number in a line.
    Numbers { rank: u32, text: String },
    /// A rank has ended.
    Ended { rank: u32, end: End, state: RankState },
    /// A rank called `MPI_Abort`.
    Abort { rank: u32, code: i32, message: String },
    /// Where the ranks of a host stand.
    Standings { host: u32, ranks: Vec<(u32, Standing)> },
    /// A rank has taken what came last of its standard input; `closed`, it wants no more.
    InputTaken { rank: u32, closed: bool },
    /// Somebody below wants the endpoint address of this rank.
    Ask(u32),
    /// The endpoint address of a rank, which somebody above wants.
    EndpointAddress { rank: u32, endpoint_address: Vec<u8> },
    /// So many ranks have come to a barrier of PMI, with these new pairs.
    Barrier { ranks: u32, pairs: KeyValues },
    /// Nothing is left on a host but its agent.
    Over { host: u32 },
    /// The agent lives.
    Beat,
    /// Whether all ranks of a host that run have waited in MPI for long, and one of its ranks that has ended well without ever having
    /// been in MPI. Where all sleep for good, in which calls.
    Waits { host: u32, all: bool, missed: Option<u32>, stalled: Option<Stalled> },
    /// A rank asks for something that is not about its job's ranks.
    Service { rank: u32, service: Service },
    /// A rank has loaded an MPI library whose ranks cannot find each other here.
    ForeignLibrary { rank: u32, message: String },
}

/// What a rank may ask for beside its job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Service {
    /// Another world.
    Spawn(SpawnRequest),
    /// The world with this number is connected with the rank's.
    Met(u32),
    /// The world with this number has parted from the rank's.
    Parted(u32),
    /// A port under the name of a service.
    Publish { service: String, port: String },
    /// That no more.
    Unpublish { service: String, port: String },
    /// The port of a service.
    Lookup { service: String },
}

/// From `mpirun` towards the agents.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Down {
    /// Comes first.
    Start(Box<Orders>),
    /// For all ranks.
    Signal(i32),
    /// Say where the ranks stand.
    Report,
    /// All ranks of the job have ended.
    Finish,
    /// For a rank's standard input; nothing is its end.
    Input { rank: u32, bytes: Vec<u8> },
    /// So many bytes of the output of a host have found their place.
    OutputTaken { host: u32, bytes: u32 },
    /// Somebody above wants the endpoint address of this rank.
    Ask(u32),
    /// The endpoint address of a rank, which somebody below wants.
    EndpointAddress { rank: u32, endpoint_address: Vec<u8> },
    /// All ranks have come to a barrier of PMI, with these new pairs.
    BarrierOut(KeyValues),
    /// The answer to a [`Up::Beat`].
    Beat,
    /// `mpirun` is about to be stopped, as by Ctrl-Z: its silence means nothing.
    Pause,
    /// Say whether all ranks wait.
    Look,
    /// A rank is to be told this line in PMI.
    Say { rank: u32, text: String },
    /// All has gone well: kill what the ranks have left in their process groups.
    Sweep,
}

/// All that an agent needs to know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Orders {
    /// The job's secret.
    pub secret: JobSecret,
    /// The agent's own host and those behind it, with their names.
    pub hosts: Vec<(u32, String)>,
    /// Number of hosts in all.
    pub host_count: u32,
    /// Number of ranks in all.
    pub size: u32,
    /// First rank and host of each run of ranks.
    pub runs: Vec<(u32, u32)>,
    /// The programs with their numbers of ranks.
    pub apps: Vec<App>,
    /// Variables for all programs.
    pub environment: Vec<(OsString, OsString)>,
    /// `mpirun`'s own variables.
    pub inherited: Vec<(OsString, OsString)>,
    /// Where `mpirun` runs.
    pub directory: OsString,
    /// Who gets standard input.
    pub stdin: StdinTo,
    /// Whether and to what ranks are bound.
    pub bind: Bind,
    /// Say where each rank may run.
    pub report_bindings: bool,
    /// Say what is done.
    pub verbose: bool,
    /// A person may wait for lines without an end.
    pub interactive: bool,
    /// `MPI_UNIVERSE_SIZE`.
    pub universe: u32,
    /// See [`PlanSettings::launcher`].
    pub launcher: Vec<String>,
    /// See [`PlanSettings::prefix`].
    pub prefix: Option<String>,
    /// See [`PlanSettings::tree`].
    pub tree: Option<u32>,
    /// See [`PlanSettings::pairs`].
    pub pairs: KeyValues,
}

impl Orders {
    /// The orders for the agents of these hosts, the first of which takes the others under it.
    pub(crate) fn new(
        plan: &JobPlan,
        secret: JobSecret,
        interactive: bool,
        inherited: Vec<(OsString, OsString)>,
    ) -> Orders {
        let settings = &plan.settings;
        Orders {
            secret,
            hosts: Vec::new(),
            host_count: plan.places.hosts(),
            size: plan.size(),
            runs: plan.places.runs().iter().map(|run| (run.first, run.host)).collect(),
            apps: settings.apps.clone(),
            environment: settings.environment.clone(),
            inherited,
            directory: std::env::current_dir().unwrap_or_default().into_os_string(),
            stdin: settings.stdin,
            bind: settings.bind.clone(),
            report_bindings: settings.report_bindings,
            verbose: settings.verbose,
            interactive,
            universe: plan.universe,
            launcher: settings.launcher.clone(),
            prefix: settings.prefix.clone(),
            tree: settings.tree,
            pairs: settings.pairs.clone(),
        }
    }

    /// The plan of the agent that got these orders; `None` if they make no sense.
    pub(crate) fn plan(&self) -> Option<JobPlan> {
        let runs = self.runs.iter().map(|&(first, host)| tern_job::node_map::RankRun { first, host });
        let places = NodeMap::from_runs(runs.collect(), self.size, self.host_count)?;
        let counts = self.apps.iter().map(|app| app.count.unwrap_or_default() as usize);
        if counts.clone().try_fold(0_usize, usize::checked_add)? != self.size as usize {
            return None;
        }
        let app_of = counts.enumerate().flat_map(|(app, count)| std::iter::repeat_n(app, count)).collect();
        let here = self.hosts.first()?.0;
        let settings = PlanSettings {
            apps: self.apps.clone(),
            environment: self.environment.clone(),
            stdin: self.stdin,
            bind: self.bind.clone(),
            report_bindings: self.report_bindings,
            verbose: self.verbose,
            map_by: MapBy::default(),
            launcher: self.launcher.clone(),
            prefix: self.prefix.clone(),
            tree: self.tree,
            pairs: self.pairs.clone(),
            ..PlanSettings::default()
        };
        let cores = tern_job::cores();
        let (hosts, allocation, universe) = (Vec::new(), Vec::new(), self.universe);
        Some(JobPlan { settings, app_of, cores, hosts, places, here: Some(here), universe, allocation })
    }
}

/// Appends a message to what is to be sent.
pub(crate) fn encode(message: &impl Serialize, bytes: &mut Vec<u8>) {
    // Only a type that cannot be counted in advance fails to serialize into memory, and there is none here.
    let body = postcard::to_allocvec(message).unwrap_or_default();
    bytes.extend_from_slice(&(body.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&body);
}

/// Takes the first message off `bytes` and says how long it was: `Ok(None)` if it has not come whole.
pub(crate) fn decode<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<Option<(T, usize)>, Garbled> {
    let Some(length) = bytes.first_chunk::<4>() else { return Ok(None) };
    let length = u32::from_le_bytes(*length) as usize;
    if length > MESSAGE_BYTES_MAX {
        return Err(Garbled);
    }
    let Some(body) = bytes.get(4..4 + length) else { return Ok(None) };
    let (message, rest) = postcard::take_from_bytes(body).map_err(|_| Garbled)?;
    if rest.is_empty() { Ok(Some((message, 4 + length))) } else { Err(Garbled) }
}

/// What came is no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Garbled;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn output() -> Up {
        Up::Output { rank: 7, error: true, bytes: b"line\n".to_vec() }
    }

    #[test]
    fn messages_survive_any_cut() {
        let mut bytes = Vec::new();
        encode(&output(), &mut bytes);
        encode(&Up::Beat, &mut bytes);
        for cut in 0..bytes.len() {
            assert!(decode::<Up>(&bytes[..cut]).is_ok_and(|found| found.is_none() || cut >= bytes.len() - 5));
        }
        let (first, length) = decode::<Up>(&bytes).unwrap().unwrap();
        assert_eq!(first, output());
        assert_eq!(decode::<Up>(&bytes[length..]), Ok(Some((Up::Beat, bytes.len() - length))));
    }

    #[test]
    fn garbage_is_refused_and_takes_no_memory() {
        assert_eq!(decode::<Up>(&[0xff; 64]), Err(Garbled));
        assert_eq!(decode::<Up>(&[1, 0, 0, 0, 200]), Err(Garbled), "no such message");
        let mut surplus = Vec::new();
        encode(&Up::Beat, &mut surplus);
        surplus[0] += 1;
        surplus.push(0);
        assert_eq!(decode::<Up>(&surplus), Err(Garbled), "something follows");
        // An output of 2^32 - 1 bytes of which one comes.
        assert_eq!(decode::<Up>(&[9, 0, 0, 0, 3, 1, 0, 0xff, 0xff, 0xff, 0xff, 0xf, 1]), Err(Garbled));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_message_or_none(bytes in vec(any::<u8>(), 0..200), length in 0..200_u32) {
            let framed = [&length.to_le_bytes()[..], &bytes].concat();
            for bytes in [&bytes[..], &framed] {
                for taken in [
                    decode::<Up>(bytes).map(|found| found.map(|(_, length)| length)),
                    decode::<Down>(bytes).map(|found| found.map(|(_, length)| length)),
                ] {
                    prop_assert!(taken.is_err() || taken.unwrap().is_none_or(|taken| taken <= bytes.len()));
                }
            }
        }

        #[test]
        fn damaged_orders_make_a_plan_that_holds_together_or_none(at in 0..400_usize, value in any::<u8>()) {
            let settings = PlanSettings {
                apps: vec![App { count: Some(3), hosts: vec!["a".into(), "b".into()], ..App::default() }],
                ..PlanSettings::default()
            };
            let mut orders = Orders::new(&JobPlan::new(settings).unwrap(), [1; 32], false, Vec::new());
            orders.hosts = vec![(1, "b".into())];
            let mut bytes = Vec::new();
            encode(&Down::Start(Box::new(orders)), &mut bytes);
            let index = 4 + at % (bytes.len() - 4);
            bytes[index] = value;
            if let Ok(Some((Down::Start(orders), _))) = decode::<Down>(&bytes)
                && let Some(plan) = orders.plan() {
                    prop_assert!(plan.own_ranks().iter().all(|&rank| rank < plan.size()));
                    prop_assert!((0..plan.size()).all(|rank| plan.places.host_of(rank) < plan.places.hosts()));
                    prop_assert_eq!(plan.app_of.len(), plan.size() as usize);
                }
        }
    }

    #[test]
    fn orders_make_a_plan_or_none() {
        let settings = PlanSettings {
            apps: vec![App { count: Some(3), hosts: vec!["a".into(), "b".into()], ..App::default() }],
            ..PlanSettings::default()
        };
        let plan = JobPlan::new(settings).unwrap();
        let mut orders = Orders::new(&plan, [1; 32], false, Vec::new());
        assert!(orders.plan().is_none(), "no host");
        orders.hosts = vec![(1, "b".into())];
        let there = orders.plan().unwrap();
        assert_eq!((there.own_ranks(), there.universe), (vec![1], 3));
        orders.apps[0].count = Some(4);
        assert!(orders.plan().is_none(), "too many ranks");
    }
}
