//! PMI-1 for the ranks of this host: what programs of MPICH and its relatives ask a launcher.
//!
//! What ranks put into the store becomes visible at the next barrier, everywhere: the agents send what is new up with the
//! barrier, and everything new comes down with its end.

use std::collections::HashMap;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use tern_job::pmi::{MAPPING_KEY, PmiLine, escape, unescape};

use crate::limits::{
    PMI_KEY_BYTES_MAX, PMI_LINE_BYTES_MAX, PMI_NAME_BYTES_MAX, PMI_STORE_BYTES_MAX, PMI_VALUE_BYTES_MAX,
    SPAWN_BYTES_MAX,
};
use crate::poller::Poller;
use crate::serve::spawning::Gathering;
use crate::tree::messages::Service;

/// Keys with their values.
pub(crate) type KeyValues = Vec<(String, String)>;

/// What a node supervisor has to do because of what ranks have said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Demand {
    /// All ranks from here on have come to the barrier; these pairs are new.
    Barrier(KeyValues),
    /// A rank ends the job.
    /// A rank asks for something that is not about its job's ranks.
    Service {
        /// Who.
        rank: u32,
        /// What.
        service: Service,
    },
    Abort {
        /// Who.
        rank: u32,
        /// Its exit status.
        code: i32,
        /// Why.
        message: String,
    },
}

/// The server of one node supervisor.
#[derive(Debug, Default)]
pub(crate) struct Pmi {
    ranks: HashMap<u32, PmiClient>,
    job: About,
    store: HashMap<String, String>,
    store_bytes: usize,
    /// What has been put since the last barrier.
    fresh: KeyValues,
    /// Ranks at the barrier.
    arrived: u32,
    /// Ranks of this node supervisor and of those behind it.
    expected: u32,
    /// Some rank has said that it uses MPI no more.
    has_finalized: bool,
}

/// What ranks may ask about the job.
#[derive(Clone, Debug, Default)]
pub(crate) struct About {
    /// Names the store.
    pub name: String,
    /// `MPI_UNIVERSE_SIZE`.
    pub universe: u32,
    /// Which ranks share a host.
    pub mapping: String,
}

#[derive(Debug)]
struct PmiClient {
    fd: OwnedFd,
    app: usize,
    buffer: Vec<u8>,
    /// In the middle of a command of several lines.
    within: bool,
    gathering: Gathering,
    waits: bool,
}

impl Pmi {
    /// Serves these ranks, each with its socket and the number of its program.
    pub(crate) fn new(sockets: impl Iterator<Item = (u32, usize, OwnedFd)>, job: About) -> Pmi {
        let client = |app, fd| PmiClient {
            fd,
            app,
            buffer: Vec::new(),
            within: false,
            gathering: Gathering::default(),
            waits: false,
        };
        let ranks = sockets.map(|(rank, app, fd)| (rank, client(app, fd))).collect();
        let mut pmi = Pmi { ranks, ..Pmi::default() };
        if job.mapping.len() < PMI_VALUE_BYTES_MAX {
            pmi.store.insert(MAPPING_KEY.into(), job.mapping.clone());
        }
        pmi.job = job;
        pmi
    }

    /// A barrier is for so many ranks, of this node supervisor and of those behind it.
    pub(crate) fn expect(&mut self, ranks: u32) {
        self.expected = ranks;
    }

    /// See [`expect`](Pmi::expect).
    pub(crate) fn expected(&self) -> u32 {
        self.expected
    }

    /// A rank has said something, or has gone.
    pub(crate) fn on_words(&mut self, rank: u32, poller: &Poller) -> Vec<Demand> {
        let mut demands = Vec::new();
        let Some(client) = self.ranks.get_mut(&rank) else { return demands };
        let open = client.read();
        while let Some(line) = self.ranks.get_mut(&rank).and_then(PmiClient::next_line) {
            match std::str::from_utf8(&line) {
                Ok(text) => demands.extend(self.on_line(rank, PmiLine::new(text))),
                Err(_) => self.drop_client(rank, poller),
            }
        }
        if !open {
            self.drop_client(rank, poller);
        }
        demands
    }

    /// So many ranks behind another node supervisor have come to the barrier, with these new pairs.
    pub(crate) fn on_barrier(&mut self, ranks: u32, pairs: KeyValues) -> Option<Demand> {
        for (key, value) in pairs {
            self.put(&key, &value);
        }
        self.arrive(ranks)
    }

    /// All ranks of the job have come to the barrier. These pairs are new, some of them known here.
    pub(crate) fn release(&mut self, pairs: KeyValues) {
        self.store.extend(pairs);
        self.fresh.clear();
        self.arrived = 0;
        for client in self.ranks.values_mut().filter(|client| client.waits) {
            client.waits = false;
            client.say("cmd=barrier_out");
        }
    }

    /// What the store holds.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn store_bytes(&self) -> usize {
        self.store_bytes
    }

    fn drop_client(&mut self, rank: u32, poller: &Poller) {
        if let Some(client) = self.ranks.remove(&rank) {
            poller.remove(&client.fd);
        }
    }

    fn arrive(&mut self, ranks: u32) -> Option<Demand> {
        self.arrived = self.arrived.saturating_add(ranks);
        (self.arrived >= self.expected).then(|| Demand::Barrier(std::mem::take(&mut self.fresh)))
    }

    fn on_line(&mut self, rank: u32, line: PmiLine<'_>) -> Option<Demand> {
        let app = self.ranks.get(&rank).map_or(0, |client| client.app);
        let About { name, universe, .. } = &self.job;
        let answer = match line.command() {
            "init" => "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0".into(),
            "get_maxes" => format!(
                "cmd=maxes kvsname_max={PMI_NAME_BYTES_MAX} keylen_max={PMI_KEY_BYTES_MAX} vallen_max={PMI_VALUE_BYTES_MAX}"
            ),
            "get_appnum" => format!("cmd=appnum appnum={app}"),
            "get_my_kvsname" => format!("cmd=my_kvsname kvsname={name}"),
            "get_universe_size" => format!("cmd=universe_size size={universe}"),
            "put" => self.answer_to_put(line),
            "get" => self.answer_to_get(line),
            "barrier_in" => return self.on_barrier_in(rank),
            "finalize" => {
                self.has_finalized = true;
                "cmd=finalize_ack".into()
            }
            "abort" => return Some(abort(rank, line)),
            "endcmd" => return self.on_spawn(rank),
            "tern_met" | "tern_parted" => {
                let number = line.get("spawn").and_then(|number| number.parse().ok())?;
                let has_met = line.command() == "tern_met";
                let service = if has_met { Service::Met(number) } else { Service::Parted(number) };
                return Some(Demand::Service { rank, service });
            }
            "publish_name" | "unpublish_name" | "lookup_name" => match about_name(line) {
                Some(service) => return Some(Demand::Service { rank, service }),
                None => format!("cmd={}_result rc=-1 msg=no_name", line.command().trim_end_matches("_name")),
            },
            other => format!("cmd={other}_result rc=-1 msg=unknown_command"),
        };
        self.say(rank, &answer);
        None
    }

    /// The last line of a command that starts processes.
    fn on_spawn(&mut self, rank: u32) -> Option<Demand> {
        match self.ranks.get_mut(&rank)?.gathering.end() {
            Ok(request) => request.map(|request| Demand::Service { rank, service: Service::Spawn(request) }),
            Err(why) => {
                self.say(rank, &format!("cmd=spawn_result rc=-1 msg={}", escape(&why)));
                None
            }
        }
    }

    /// These are in the store from the start.
    pub(crate) fn preset(&mut self, pairs: &KeyValues) {
        self.store.extend(pairs.iter().cloned());
    }

    /// Whether some rank has said that it uses MPI no more.
    pub(crate) fn has_finalized(&self) -> bool {
        self.has_finalized
    }

    /// Whether a rank is still there.
    pub(crate) fn serves(&self, rank: u32) -> bool {
        self.ranks.contains_key(&rank)
    }

    fn on_barrier_in(&mut self, rank: u32) -> Option<Demand> {
        let client = self.ranks.get_mut(&rank)?;
        // One rank cannot come twice.
        if std::mem::replace(&mut client.waits, true) { None } else { self.arrive(1) }
    }

    fn answer_to_put(&mut self, line: PmiLine<'_>) -> String {
        let pair = line.get("key").zip(line.get("value"));
        match pair.filter(|(key, value)| self.put(key, value)) {
            Some(_) => "cmd=put_result rc=0 msg=success".into(),
            None => "cmd=put_result rc=-1 msg=too_long_or_too_much".into(),
        }
    }

    fn put(&mut self, key: &str, value: &str) -> bool {
        let bytes = key.len() + value.len();
        let fits = key.len() < PMI_KEY_BYTES_MAX && value.len() < PMI_VALUE_BYTES_MAX;
        if !fits || self.store_bytes + bytes > PMI_STORE_BYTES_MAX {
            return false;
        }
        self.store_bytes += bytes;
        self.store.insert(key.into(), value.into());
        self.fresh.push((key.into(), value.into()));
        true
    }

    fn answer_to_get(&self, line: PmiLine<'_>) -> String {
        match line.get("key").and_then(|key| self.store.get(key)) {
            Some(value) => format!("cmd=get_result rc=0 msg=success value={value}"),
            None => "cmd=get_result rc=-1 msg=key_not_found value=unknown".into(),
        }
    }

    /// Says a line to a rank.
    pub(crate) fn say(&mut self, rank: u32, text: &str) {
        if let Some(client) = self.ranks.get_mut(&rank) {
            client.say(text);
        }
    }
}

/// A question about a name.
fn about_name(line: PmiLine<'_>) -> Option<Service> {
    let service = unescape(line.get("service")?)?;
    let port = || line.get("port").map(String::from);
    Some(match line.command() {
        "publish_name" => Service::Publish { service, port: port()? },
        "unpublish_name" => Service::Unpublish { service, port: port().unwrap_or_default() },
        _ => Service::Lookup { service },
    })
}

fn abort(rank: u32, line: PmiLine<'_>) -> Demand {
    let code = line.get("exitcode").and_then(|code| code.parse().ok()).unwrap_or(1);
    let message = line.get("message").or(line.get("error_msg")).unwrap_or_default().to_owned();
    Demand::Abort { rank, code, message }
}

impl PmiClient {
    /// Whether more may come.
    fn read(&mut self) -> bool {
        let mut bytes = [0; PMI_LINE_BYTES_MAX];
        match rustix::io::read(&self.fd, &mut bytes) {
            Ok(0) => false,
            Ok(count) => {
                self.buffer.extend_from_slice(&bytes[..count]);
                let most = if self.within { SPAWN_BYTES_MAX } else { 2 * PMI_LINE_BYTES_MAX };
                self.buffer.len() < most
            }
            Err(error) => matches!(error, Errno::AGAIN | Errno::INTR),
        }
    }

    /// The next line; of a command of several lines, the last.
    fn next_line(&mut self) -> Option<Vec<u8>> {
        loop {
            let end = self.buffer.iter().position(|&byte| byte == b'\n')? + 1;
            let line: Vec<u8> = self.buffer.drain(..end).collect();
            self.within |= line.starts_with(b"mcmd=");
            if !self.within {
                return Some(line);
            }
            if line.starts_with(b"endcmd") {
                self.within = false;
                return Some(b"cmd=endcmd\n".to_vec());
            }
            // What is no text is no request that makes sense.
            self.gathering.add(std::str::from_utf8(&line).unwrap_or_default().trim_end_matches('\n'));
        }
    }

    /// A rank waits for each answer, so there is room for it, or something is wrong with the rank.
    fn say(&self, text: &str) {
        let _ = rustix::io::write(&self.fd, format!("{text}\n").as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    struct Job {
        pmi: Pmi,
        ranks: Vec<UnixStream>,
        poller: Poller,
    }

    impl Job {
        fn new(size: u32, expected: u32) -> Job {
            let pairs: Vec<_> = (0..size).map(|_| UnixStream::pair().unwrap()).collect();
            let mut ranks = Vec::new();
            let mut sockets = Vec::new();
            for (rank, (ours, theirs)) in (0..).zip(pairs) {
                theirs.set_nonblocking(true).unwrap();
                ours.set_nonblocking(true).unwrap();
                ranks.push(theirs);
                sockets.push((rank, 0, OwnedFd::from(ours)));
            }
            let about = About { name: "kvs".into(), universe: 8, mapping: "(vector,(0,1,2))".into() };
            let mut pmi = Pmi::new(sockets.into_iter(), about);
            pmi.expect(expected);
            Job { pmi, ranks, poller: Poller::new().unwrap() }
        }

        fn ask(&mut self, rank: u32, words: &[u8]) -> (String, Vec<Demand>) {
            self.ranks[rank as usize].write_all(words).unwrap();
            let demands = self.pmi.on_words(rank, &self.poller);
            (self.heard(rank), demands)
        }

        fn heard(&mut self, rank: u32) -> String {
            let mut bytes = [0; 4096];
            let count = self.ranks[rank as usize].read(&mut bytes).unwrap_or(0);
            String::from_utf8_lossy(&bytes[..count]).into_owned()
        }
    }

    #[test]
    fn a_rank_is_answered() {
        let mut job = Job::new(1, 1);
        for (words, part) in [
            ("cmd=init pmi_version=1 pmi_subversion=1", "rc=0"),
            ("cmd=get_maxes", "vallen_max="),
            ("cmd=get_my_kvsname", "kvsname=kvs"),
            ("cmd=get_universe_size", "size=8"),
            ("cmd=get_appnum", "appnum=0"),
            ("cmd=put kvsname=kvs key=a value=1=2", "cmd=put_result rc=0"),
            ("cmd=get kvsname=kvs key=a", "rc=0 msg=success value=1=2\n"),
            ("cmd=get kvsname=kvs key=b", "rc=-1"),
            ("cmd=get kvsname=kvs key=PMI_process_mapping", "value=(vector,(0,1,2))"),
            ("mcmd=spawn\nnprocs=1\nendcmd", "cmd=spawn_result rc=-1"),
            ("cmd=unheard_of", "rc=-1"),
            ("cmd=finalize", "cmd=finalize_ack"),
        ] {
            let (answer, demands) = job.ask(0, format!("{words}\n").as_bytes());
            assert!(answer.contains(part) && answer.lines().count() == 1, "{words}: {answer}");
            assert!(demands.is_empty());
        }
        let (_, demands) = job.ask(0, b"cmd=abort exitcode=7\n");
        assert_eq!(demands, [Demand::Abort { rank: 0, code: 7, message: String::new() }]);
    }

    #[test]
    fn what_is_not_about_the_ranks_is_passed_on() {
        let mut job = Job::new(1, 1);
        let program =
            tern_job::spawn_request::Program { command: "./a b".into(), count: 2, ..Default::default() };
        let request = tern_job::spawn_request::SpawnRequest { programs: vec![program], pairs: Vec::new() };
        for (words, service) in [
            (request.text(true).unwrap(), Service::Spawn(request)),
            ("cmd=tern_met spawn=3\n".into(), Service::Met(3)),
            ("cmd=tern_parted spawn=3\n".into(), Service::Parted(3)),
            ("cmd=lookup_name service=a%20b\n".into(), Service::Lookup { service: "a b".into() }),
            (
                "cmd=publish_name service=a port=h:1#2\n".into(),
                Service::Publish { service: "a".into(), port: "h:1#2".into() },
            ),
        ] {
            let (answer, demands) = job.ask(0, words.as_bytes());
            assert_eq!(
                (answer.as_str(), demands),
                ("", vec![Demand::Service { rank: 0, service }]),
                "{words}"
            );
        }
        job.ask(0, b"cmd=finalize\n");
        assert!(job.pmi.has_finalized() && job.pmi.serves(0));
    }

    #[test]
    fn a_barrier_waits_for_all_and_carries_what_is_new() {
        let mut job = Job::new(2, 3);
        job.ask(0, b"cmd=put kvsname=kvs key=a value=1\n");
        assert_eq!(job.ask(0, b"cmd=barrier_in\n"), (String::new(), vec![]));
        assert_eq!(job.ask(0, b"cmd=barrier_in\n"), (String::new(), vec![]), "twice is once");
        assert_eq!(job.ask(1, b"cmd=barrier_in\n").1, []);
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let all = vec![pair("a", "1"), pair("b", "2")];
        assert_eq!(job.pmi.on_barrier(1, vec![pair("b", "2")]), Some(Demand::Barrier(all.clone())));
        assert_eq!(job.heard(1), "");
        job.pmi.release(all);
        assert_eq!((job.heard(0), job.heard(1)), ("cmd=barrier_out\n".into(), "cmd=barrier_out\n".into()));
        assert!(job.ask(1, b"cmd=get kvsname=kvs key=b\n").0.contains("value=2"));
        assert!(job.ask(0, b"cmd=barrier_in\n").1.is_empty(), "the next barrier is another one");
    }

    #[test]
    fn a_rank_that_speaks_nonsense_is_dropped() {
        let mut job = Job::new(3, 3);
        job.ask(0, &[b'x'; PMI_LINE_BYTES_MAX]);
        job.ask(0, &[b'x'; PMI_LINE_BYTES_MAX]);
        job.ask(1, b"\xff\xfe\n");
        assert_eq!(job.pmi.ranks.len(), 1);
        let long = format!("cmd=put key=k value={}\n", "v".repeat(PMI_VALUE_BYTES_MAX));
        assert!(job.ask(2, long.as_bytes()).0.contains("rc=-1"));
    }
}
