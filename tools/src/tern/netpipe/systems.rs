//! The systems that are compared, and how each is asked to run a loop of `tools/measure/netpipe.c`.

use std::path::PathBuf;

use super::limits::{JOB_EXTRA_S, POINT_PATIENCE};
use super::options::{MeasuredTransport, RankPlacement};
use super::peers::{Flavour, PeerLibrary};
use crate::installation::Installation;
use crate::run::Invocation;

/// What two or more ranks do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JobWork {
    /// One message back and forth.
    PingPong,
    /// Two at once.
    Exchange,
    /// Transfers and computation.
    Overlap,
    /// Messages to a rank that computes.
    Interrupt,
    /// Broadcasts.
    Bcast,
    /// Accesses to the other rank's memory, each completed there.
    Rma(RemoteAccess),
}

/// An access to the memory of another rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RemoteAccess {
    /// `MPI_Put`.
    Put,
    /// `MPI_Get`.
    Get,
    /// `MPI_Accumulate` with `MPI_SUM`.
    Atomic,
}

/// A system.
#[derive(Clone, Debug)]
pub(super) enum MeasuredSystem {
    /// This library.
    Tern,
    /// Sockets that are polled, between two of its processes.
    RawPolled,
    /// Sockets on which processes sleep.
    RawBlocking,
    /// Memory that is mapped: copies and atomic instructions.
    Memory,
    /// Another MPI library.
    Peer(PeerLibrary),
}

/// One job.
#[derive(Clone, Debug)]
pub(super) struct SystemJob {
    /// What its ranks do.
    pub work: JobWork,
    /// How many they are.
    pub ranks: u32,
    /// With so many bytes.
    pub sizes: Vec<u64>,
    /// Time for each of them, seconds.
    pub point_s: f64,
    /// Settings of Tern.
    pub settings: Vec<(String, String)>,
}

/// What starts jobs here.
#[derive(Clone, Debug)]
pub(super) struct JobStarter {
    /// Tern's launcher.
    pub mpirun: PathBuf,
    /// What its ranks run.
    pub program: PathBuf,
    /// Where the ranks run.
    pub place: RankPlacement,
    /// What peers' launchers call to reach a host, if there is anything to call.
    pub remote_shell: Option<PathBuf>,
}

impl JobStarter {
    /// By the programs of this installation.
    pub(super) fn new(here: &Installation, place: &RankPlacement) -> Result<JobStarter, String> {
        let (mpirun, program) = (here.file("bin/mpirun")?, here.file("libexec/tern/netpipe")?);
        Ok(JobStarter { mpirun, program, place: place.clone(), remote_shell: None })
    }

    /// How a system does this job; `None` if it cannot.
    pub(super) fn invocation(&self, system: &MeasuredSystem, job: &SystemJob) -> Option<Invocation> {
        let words = |options: Vec<String>, program: &PathBuf| {
            let mut words = options;
            words.push(program.display().to_string());
            words.extend([loop_of(system, job.work)?.into(), job.point_s.to_string()]);
            words.extend(job.sizes.iter().map(u64::to_string));
            Some(words)
        };
        let limit_s = job.limit_s();
        match system {
            MeasuredSystem::Peer(peer) => {
                let words = words(self.peer_options(peer, job.ranks)?, &peer.program)?;
                let mut settings = peer.settings(self.place.transport == MeasuredTransport::Tcp);
                settings.extend(self.settings_between_hosts(peer));
                let run = Invocation { program: peer.mpirun.clone(), words, settings, limit_s };
                Some(self.on_first_host(run))
            }
            _ => Some(Invocation {
                program: self.mpirun.clone(),
                words: words(self.options(job), &self.program)?,
                settings: self.settings(job),
                // mpirun says where the ranks stand when it ends a job, so it comes first.
                limit_s: limit_s + JOB_EXTRA_S,
            }),
        }
    }

    fn options(&self, job: &SystemJob) -> Vec<String> {
        let mut words = vec!["-n".into(), job.ranks.to_string()];
        words.extend(["--timeout".into(), format!("{:.0}", job.limit_s())]);
        if let Some(hosts) = self.hosts(job.ranks) {
            words.extend(["--host".into(), hosts.join(",")]);
        }
        if let Some(launcher) = &self.place.launcher {
            words.extend(["--launcher".into(), launcher.clone()]);
        }
        words
    }

    fn settings(&self, job: &SystemJob) -> Vec<(String, String)> {
        let mut settings = job.settings.clone();
        if self.place.transport != MeasuredTransport::Auto {
            settings.push(("TERN_TRANSPORT".into(), self.place.transport.name().into()));
        }
        settings
    }

    /// A host for each rank, where hosts are named.
    fn hosts(&self, ranks: u32) -> Option<&[String]> {
        let hosts = &self.place.hosts;
        (!hosts.is_empty()).then(|| &hosts[..hosts.len().min(ranks as usize)])
    }

    fn peer_options(&self, peer: &PeerLibrary, ranks: u32) -> Option<Vec<String>> {
        let mut words = vec!["-n".to_owned(), ranks.to_string()];
        let Some(hosts) = self.hosts(ranks) else { return Some(words) };
        let shell = self.remote_shell.as_ref().map(|path| path.display().to_string());
        match peer.flavour {
            Flavour::Hydra => {
                words.extend(["-hosts".into(), hosts.join(","), "-ppn".into(), "1".into()]);
                words.extend(
                    shell
                        .into_iter()
                        .flat_map(|path| ["-launcher".into(), "rsh".into(), "-launcher-exec".into(), path]),
                );
            }
            Flavour::OpenMpi => {
                let slots: Vec<String> = hosts.iter().map(|host| format!("{host}:1")).collect();
                words.extend(["--host".into(), slots.join(",")]);
                // More ranks than cores are allowed everywhere, and then slots do not keep two from one host.
                words.extend(["--map-by".into(), "ppr:1:node".into()]);
                // Its launcher, PRRTE, has settings of its own.
                words.extend(
                    shell.into_iter().flat_map(|path| ["--prtemca".into(), "plm_ssh_agent".into(), path]),
                );
            }
            // Nobody knows what it calls its options.
            Flavour::Other => return None,
        }
        Some(words)
    }

    /// Open MPI takes a bridge that two hosts have with the same private address for a way from one to the other.
    fn settings_between_hosts(&self, peer: &PeerLibrary) -> Option<(String, String)> {
        let wanted = peer.flavour == Flavour::OpenMpi && !self.place.hosts.is_empty();
        wanted.then(|| ("OMPI_MCA_btl_tcp_if_exclude".into(), "lo,docker0".into()))
    }

    /// Other launchers want to be reached from all hosts, so they start on one of them, if there is a way to it.
    fn on_first_host(&self, run: Invocation) -> Invocation {
        let (Some(host), Some(launcher)) = (self.place.hosts.first(), &self.place.launcher) else {
            return run;
        };
        // Quoted as for `mpirun`; the command line has been checked.
        let mut words = shlex::split(launcher).unwrap_or_default().into_iter();
        let Some(program) = words.next() else { return run };
        let settings = run.settings.iter().map(|(name, value)| format!("{name}={}", quoted(value)));
        let command = [quoted(&run.program.display().to_string())];
        let rest = run.words.iter().map(|word| quoted(word));
        let line = settings.chain(command).chain(rest).collect::<Vec<_>>().join(" ");
        let words = words.chain([host.clone(), line]).collect();
        Invocation { program: program.into(), words, settings: vec![], ..run }
    }
}

/// As a shell reads it.
pub(super) fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./,:=@%+".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

impl SystemJob {
    /// How long it may take: each point several times its budget, on a slow network.
    fn limit_s(&self) -> f64 {
        JOB_EXTRA_S + POINT_PATIENCE * self.point_s * self.sizes.len() as f64
    }
}

/// What the loop of a system is called in `netpipe.c`; `None` if it has none.
fn loop_of(system: &MeasuredSystem, work: JobWork) -> Option<&'static str> {
    match (system, work) {
        (MeasuredSystem::RawPolled, JobWork::PingPong) => Some("raw-polled"),
        (MeasuredSystem::RawPolled, JobWork::Exchange) => Some("raw-exchange"),
        (MeasuredSystem::RawBlocking, JobWork::PingPong) => Some("raw-blocking"),
        (MeasuredSystem::RawPolled, JobWork::Rma(RemoteAccess::Put | RemoteAccess::Get)) => {
            Some("raw-answered")
        }
        (MeasuredSystem::Memory, JobWork::Rma(RemoteAccess::Put)) => Some("memory-put"),
        (MeasuredSystem::Memory, JobWork::Rma(RemoteAccess::Get)) => Some("memory-get"),
        (MeasuredSystem::Memory, JobWork::Rma(RemoteAccess::Atomic)) => Some("memory-atomic"),
        (MeasuredSystem::RawPolled | MeasuredSystem::RawBlocking | MeasuredSystem::Memory, _) => None,
        (_, JobWork::PingPong) => Some("pingpong"),
        (_, JobWork::Exchange) => Some("exchange"),
        (_, JobWork::Overlap) => Some("overlap"),
        (_, JobWork::Interrupt) => Some("interrupt"),
        (_, JobWork::Bcast) => Some("bcast"),
        (_, JobWork::Rma(RemoteAccess::Put)) => Some("rma-put"),
        (_, JobWork::Rma(RemoteAccess::Get)) => Some("rma-get"),
        (_, JobWork::Rma(RemoteAccess::Atomic)) => Some("rma-atomic"),
    }
}

impl MeasuredSystem {
    /// What it is called, on the command line and in results.
    pub(super) fn name(&self) -> &str {
        match self {
            MeasuredSystem::Tern => "tern",
            MeasuredSystem::RawPolled => "raw",
            MeasuredSystem::RawBlocking => "raw-blocking",
            MeasuredSystem::Memory => "memory",
            MeasuredSystem::Peer(peer) => &peer.name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starter(hosts: &[&str], transport: MeasuredTransport) -> JobStarter {
        let hosts = hosts.iter().map(|host| String::from(*host)).collect();
        let place = RankPlacement { transport, hosts, launcher: Some("rsh -x".into()) };
        let shell = Some("/scratch/shell".into());
        JobStarter {
            mpirun: "/t/bin/mpirun".into(),
            program: "/t/netpipe".into(),
            place,
            remote_shell: shell,
        }
    }

    fn job(work: JobWork, ranks: u32) -> SystemJob {
        let settings = vec![("TERN_PROGRESS".into(), "thread".into())];
        SystemJob { work, ranks, sizes: vec![1, 64], point_s: 0.5, settings }
    }

    fn peer(flavour: Flavour) -> MeasuredSystem {
        let (name, version) = ("other".into(), String::new());
        MeasuredSystem::Peer(PeerLibrary {
            name,
            version,
            mpirun: "/p/mpirun".into(),
            program: "/p/np".into(),
            flavour,
        })
    }

    #[test]
    fn tern_is_told_hosts_launcher_and_transport() {
        let starter = starter(&["a", "b", "c"], MeasuredTransport::Tcp);
        let run = starter.invocation(&MeasuredSystem::Tern, &job(JobWork::PingPong, 2)).unwrap();
        let words = "-n 2 --timeout 68 --host a,b --launcher rsh -x /t/netpipe pingpong 0.5 1 64";
        assert_eq!(run.words.join(" "), words);
        let settings = [("TERN_PROGRESS", "thread"), ("TERN_TRANSPORT", "tcp")];
        assert_eq!(run.settings, settings.map(|(name, value)| (name.into(), value.into())));
    }

    #[test]
    fn a_launcher_may_have_quotes() {
        let mut starter = starter(&["a", "b"], MeasuredTransport::Auto);
        starter.place.launcher = Some("'/s p/rsh' -l 'a b'".into());
        let run = starter.invocation(&peer(Flavour::Hydra), &job(JobWork::Bcast, 2)).unwrap();
        assert_eq!(run.program, PathBuf::from("/s p/rsh"));
        assert_eq!(run.words[..3], ["-l", "a b", "a"]);
    }

    #[test]
    fn raw_tcp_runs_where_terns_ranks_would() {
        let starter = starter(&[], MeasuredTransport::Auto);
        let run = starter.invocation(&MeasuredSystem::RawBlocking, &job(JobWork::PingPong, 2)).unwrap();
        assert!(run.words.join(" ").ends_with("/t/netpipe raw-blocking 0.5 1 64"), "{run}");
        assert!(!run.words.contains(&"--host".into()));
        assert_eq!(starter.invocation(&MeasuredSystem::RawBlocking, &job(JobWork::Exchange, 2)), None);
        assert_eq!(starter.invocation(&MeasuredSystem::RawPolled, &job(JobWork::Bcast, 2)), None);
        assert_eq!(starter.invocation(&MeasuredSystem::Memory, &job(JobWork::PingPong, 2)), None);
    }

    #[test]
    fn a_shell_reads_what_was_meant() {
        assert_eq!(["a/b-c", "it's", "", "$HOME"].map(quoted), ["a/b-c", "'it'\\''s'", "''", "'$HOME'"]);
    }

    #[test]
    fn peers_are_told_in_their_own_words() {
        let starter = starter(&["a", "b"], MeasuredTransport::Auto);
        let words = |flavour| {
            starter.invocation(&peer(flavour), &job(JobWork::Bcast, 2)).map(|run| run.words.join(" "))
        };
        let words_of_hydra = words(Flavour::Hydra).unwrap();
        let hydra = "-n 2 -hosts a,b -ppn 1 -launcher rsh -launcher-exec /scratch/shell /p/np bcast 0.5 1 64";
        assert!(words_of_hydra.starts_with("-x a ") && words_of_hydra.contains("=1 "), "{words_of_hydra}");
        assert!(words_of_hydra.ends_with(&format!("/p/mpirun {hydra}")), "{words_of_hydra}");
        let words_of_open_mpi = words(Flavour::OpenMpi).unwrap();
        assert!(words_of_open_mpi.contains("--host a:1,b:1 --map-by ppr:1:node"), "{words_of_open_mpi}");
        assert!(words_of_open_mpi.contains("if_exclude=lo,docker0 "), "{words_of_open_mpi}");
        assert_eq!(words(Flavour::Other), None);
    }
}
