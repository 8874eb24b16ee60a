//! The death of a rank ends the job, also where no `mpirun` of Tern's sees to that.
//!
//! Launchers of other libraries may let a job go on whose rank has died, and the others then wait for it for ever. So the ranks watch
//! over each other. On each host the first rank that still uses MPI watches over the others by their processes, and the others watch
//! over it. The first ranks of all hosts hold [`lifelines`] to each other, which form a tree. Whoever notices a death says so, tells
//! the other hosts, asks the launcher to end the job, and ends. What its end sets off at others is silent.
//!
//! A rank that ends well has said so on the status page before.

mod dial;
pub mod lifelines;
mod proof;

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;
use rustix::process::Pid;

use crate::bootstrap::voice::Voice;
use crate::exit_status;
use crate::limits::{WITNESS_PAUSE, WITNESSES_APART_MAX};
use crate::process_end;
use crate::procfs::ProcessStat;
use crate::reserved_fd::ReservedFd;
use crate::status_page::{RankRecord, RankState, StatusPage, read_record};
use lifelines::{LifelineNews, Lifelines};

/// Exit code of a job in which a rank has died.
const DEATH_CODE: i32 = 1;

/// What a rank needs to watch over others. [`run`](Watch::run) is for a thread of its own.
#[derive(Debug)]
pub struct Watch {
    rank: u32,
    host: u32,
    /// The ranks of this host.
    local: Vec<u32>,
    status_page: StatusPage,
    /// The first rank of a host in a job of several has them.
    lifelines: Option<Lifelines>,
    voice: Arc<dyn Voice>,
    stop: Arc<ReservedFd>,
    /// The processes that are watched, by their ranks; `None` if one had ended before.
    processes: BTreeMap<u32, Option<OwnedFd>>,
    /// What was noticed, and when it is to be acted on: others may be nearer.
    pending: Option<(Instant, WatchVerdict)>,
    launcher_is_there: bool,
    /// A descriptor was not open any more when it was waited for.
    is_closed: bool,
}

/// Ends the watch.
#[derive(Clone, Debug)]
pub struct Stop {
    bell: Arc<ReservedFd>,
    rank: u32,
}

impl Stop {
    /// Tells the thread that watches to end. `Err` says why it cannot be told: then neither can the launcher be told that this rank
    /// ends well.
    pub fn stop(&self) -> Result<(), String> {
        if self.bell.is_lost() {
            return Err(closed(self.rank));
        }
        // A bell that rings already has been heard.
        let _ = self.bell.with(|bell| rustix::io::write(bell, &1_u64.to_ne_bytes()));
        Ok(())
    }
}

/// What is said where the descriptors of a watch are not there any more.
fn closed(rank: u32) -> String {
    format!(
        "rank {rank}: the program has closed descriptors that MPI uses, so that the launcher cannot be told that this rank ends well: \
         the job ends. Between MPI_Init and MPI_Finalize a program may close its own descriptors alone"
    )
}

/// Why the watch has ended the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchVerdict {
    /// The exit status of this process.
    pub code: i32,
    /// What to say; nothing, if another rank says it.
    pub message: Option<String>,
    /// The rank that has died or aborted.
    culprit: u32,
}

impl Watch {
    pub(crate) fn new(
        rank: u32,
        host: u32,
        local: Vec<u32>,
        status_page: StatusPage,
        lifelines: Option<Lifelines>,
        voice: Arc<dyn Voice>,
    ) -> io::Result<Watch> {
        Ok(Watch {
            rank,
            host,
            local,
            status_page,
            lifelines,
            voice,
            stop: Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?.into()),
            processes: BTreeMap::new(),
            pending: None,
            launcher_is_there: true,
            is_closed: false,
        })
    }

    /// How somebody else ends it.
    pub fn stop(&self) -> Stop {
        Stop { bell: self.stop.clone(), rank: self.rank }
    }

    /// Watches until it is stopped, or the job has to end. The caller then says what there is to say, and calls
    /// [`tell_ranks`](Watch::tell_ranks) and [`end_job`](Watch::end_job).
    pub fn run(&mut self) -> Option<WatchVerdict> {
        loop {
            self.choose_processes();
            if self.is_lost() {
                let message = Some(closed(self.rank));
                return Some(WatchVerdict { code: DEATH_CODE, message, culprit: self.rank });
            }
            if let Some((at, verdict)) = &self.pending
                && Instant::now() >= *at
            {
                return Some(verdict.clone());
            }
            match self.wait() {
                WatchReady::Stop => {
                    self.lifelines.iter_mut().for_each(Lifelines::take_leave);
                    return None;
                }
                WatchReady::Something => {}
            }
        }
    }

    /// Tells the hosts on lifelines and the ranks of this host that the job ends, and that this rank has said why.
    pub fn tell_ranks(&mut self, verdict: &WatchVerdict) {
        // What has the numbers of lost connections may be the program's.
        if !self.is_lost() {
            self.lifelines.iter_mut().for_each(|lines| lines.tell_death(verdict.culprit, verdict.code));
        }
        self.status_page.abort(verdict.code);
    }

    /// Tells the launcher that the job ends.
    pub fn end_job(&self, verdict: &WatchVerdict) {
        let message = verdict.message.as_deref().unwrap_or("another rank has died");
        // Without a launcher each rank ends by what it notices.
        let _ = self.voice.abort(exit_status(verdict.code), message);
    }

    /// The first rank of this host that still uses MPI watches over those behind it, and they over it.
    fn choose_processes(&mut self) {
        let others = self.others_to_watch();
        self.processes.retain(|rank, _| others.contains(rank));
        for rank in others {
            if !self.processes.contains_key(&rank) {
                let process =
                    self.record(rank).pid().and_then(pid_of).and_then(|pid| process_end::open(pid).ok());
                if process.is_none() {
                    self.on_end(rank);
                }
                self.processes.insert(rank, process);
            }
        }
    }

    /// Of all ranks but the first, it reads no record beyond that of the first: the ranks of a host may be many.
    fn others_to_watch(&self) -> Vec<u32> {
        let mut live =
            self.local.iter().copied().filter(|rank| self.record(*rank).state() != RankState::Finalized);
        match live.next() {
            Some(first) if first == self.rank => live.collect(),
            first => first.into_iter().collect(),
        }
    }

    fn wait(&mut self) -> WatchReady {
        let due = self.pending.as_ref().map(|(at, _)| at.saturating_duration_since(Instant::now()));
        let Some(ready) = self.poll(due) else { return WatchReady::Stop };
        self.is_closed |= ready.closed;
        // Nothing that was ready then is what it was.
        if self.is_lost() {
            return WatchReady::Something;
        }
        if ready.stop {
            return WatchReady::Stop;
        }
        ready.ended.into_iter().for_each(|rank| self.on_end(rank));
        if ready.launcher {
            self.on_launcher_gone();
        }
        let news = self.lifelines.as_mut().map(Lifelines::serve).unwrap_or_default();
        news.into_iter().for_each(|news| self.on_news(&news));
        WatchReady::Something
    }

    /// Whether the program has closed what the watch needs. It sees the death of nobody then.
    fn is_lost(&self) -> bool {
        self.is_closed || self.stop.is_lost() || self.status_page.file().is_lost()
    }

    /// Waits for anything. `None` if that is not possible any more.
    fn poll(&self, due: Option<Duration>) -> Option<Polled> {
        let processes: Vec<(u32, &OwnedFd)> =
            self.processes.iter().filter_map(|(rank, process)| Some((*rank, process.as_ref()?))).collect();
        let connection = self.voice.connection().filter(|_| self.launcher_is_there);
        let lines = self.lifelines.as_ref().map(Lifelines::fds).unwrap_or_default();
        let stop = self.stop.as_fd();
        let mut fds = vec![PollFd::from_borrowed_fd(stop, PollFlags::IN)];
        let watched = processes.iter().map(|(_, process)| (process.as_fd(), PollFlags::IN));
        fds.extend(watched.chain(lines).map(|(fd, flags)| PollFd::from_borrowed_fd(fd, flags)));
        fds.extend(connection.map(|(fd, event)| PollFd::from_borrowed_fd(fd, event)));
        let limit =
            due.map(|due| Timespec { tv_sec: due.as_secs() as i64, tv_nsec: due.subsec_nanos().into() });
        match poll(&mut fds, limit.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return None,
        }
        let ended = processes.iter().zip(&fds[1..]).filter(|(_, fd)| fd.revents().contains(PollFlags::IN));
        let launcher = connection
            .zip(fds.last())
            .is_some_and(|((_, event), connection)| connection.revents().intersects(event));
        Some(Polled {
            stop: fds[0].revents().contains(PollFlags::IN),
            closed: fds.iter().any(|fd| fd.revents().contains(PollFlags::NVAL)),
            ended: ended.map(|((rank, _), _)| *rank).collect(),
            launcher,
        })
    }

    /// A process that was a rank of this host is no more.
    fn on_end(&mut self, rank: u32) {
        let record = self.record(rank);
        // The program may have closed the descriptor, whose number is then another's.
        let runs = record.pid().and_then(ProcessStat::of).is_some_and(|stat| !stat.has_ended());
        self.processes.insert(rank, None);
        match record.abort_code() {
            _ if runs || record.state() == RankState::Finalized => {}
            Some(code) => self.decide(Duration::ZERO, WatchVerdict { code, message: None, culprit: rank }),
            None => {
                let message = format!(
                    "rank {rank} (process {} on host {}) has died, or ended without MPI_Finalize: the job ends",
                    record.pid().unwrap_or_default(),
                    host_name()
                );
                self.decide(
                    self.pause(),
                    WatchVerdict { code: DEATH_CODE, message: Some(message), culprit: rank },
                );
            }
        }
    }

    /// Ranks that notice the same speak one after the other: whoever comes first ends the job.
    fn pause(&self) -> Duration {
        let place = self.local.iter().take_while(|&&rank| rank != self.rank).count() as u32;
        WITNESS_PAUSE * place.saturating_sub(1).min(WITNESSES_APART_MAX)
    }

    fn on_news(&mut self, news: &LifelineNews) {
        match *news {
            LifelineNews::Death { rank, code } => {
                self.decide(Duration::ZERO, WatchVerdict { code, message: None, culprit: rank });
            }
            LifelineNews::Lost { host, rank } => {
                let message = format!(
                    "rank {rank} has died, or its host (number {host}) cannot be reached any more: the job ends"
                );
                // The ranks of that host know more, and those above it come first.
                let pause = WITNESS_PAUSE * if host > self.host { 1 } else { 2 };
                self.decide(pause, WatchVerdict { code: DEATH_CODE, message: Some(message), culprit: rank });
            }
        }
    }

    /// The launcher ends its ranks itself if it ends in order.
    fn on_launcher_gone(&mut self) {
        self.launcher_is_there = false;
        let is_first = self.local.first() == Some(&self.rank);
        let message = format!("the launcher on host {} has died: its ranks end", host_name());
        let verdict =
            WatchVerdict { code: DEATH_CODE, message: is_first.then_some(message), culprit: self.rank };
        self.decide(WITNESS_PAUSE * 2, verdict);
    }

    /// What was noticed first counts, unless somebody else has said it meanwhile.
    fn decide(&mut self, pause: Duration, verdict: WatchVerdict) {
        let sooner = Instant::now() + pause;
        match &self.pending {
            Some((at, _)) if *at <= sooner => {}
            _ => self.pending = Some((sooner, verdict)),
        }
    }

    fn record(&self, rank: u32) -> RankRecord {
        let record = self.status_page.file().with(|file| read_record(file, rank));
        record.unwrap_or_else(|_: Errno| RankRecord::absent())
    }
}

enum WatchReady {
    Stop,
    Something,
}

struct Polled {
    stop: bool,
    /// Descriptors are not open any more.
    closed: bool,
    /// Ranks whose processes have ended.
    ended: Vec<u32>,
    /// The launcher has hung up.
    launcher: bool,
}

fn pid_of(number: u32) -> Option<Pid> {
    i32::try_from(number).ok().and_then(Pid::from_raw)
}

fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node_map::make_room;
    use rustix::event::PollFlags;
    use rustix::fs::{MemfdFlags, fstat, memfd_create};
    use rustix::io::pwrite;
    use rustix::pipe::{PipeFlags, pipe_with};
    use std::os::fd::BorrowedFd;
    use std::process::{Child, Command};
    use std::sync::Mutex;

    /// A launcher that notes what it is told.
    #[derive(Debug)]
    struct Noted {
        aborts: Mutex<Vec<i32>>,
        connection: OwnedFd,
    }

    impl Voice for Noted {
        fn abort(&self, code: i32, _message: &str) -> io::Result<()> {
            self.aborts.lock().unwrap().push(code);
            Ok(())
        }

        fn finalize(&self) {}

        fn connection(&self) -> Option<(BorrowedFd<'_>, PollFlags)> {
            Some((self.connection.as_fd(), PollFlags::HUP))
        }
    }

    /// Rank 0 of three, whose other ranks are processes that only sleep.
    struct Bench {
        watch: Watch,
        others: Vec<Child>,
        page: OwnedFd,
        noted: Arc<Noted>,
        launcher: Option<OwnedFd>,
    }

    impl Bench {
        fn new(own: u32) -> Bench {
            let page = memfd_create("page", MemfdFlags::CLOEXEC).unwrap();
            make_room(&page, 3).unwrap();
            let (connection, launcher) = pipe_with(PipeFlags::CLOEXEC).unwrap();
            let noted = Arc::new(Noted { aborts: Mutex::default(), connection });
            let of = |rank| StatusPage::new(page.try_clone().unwrap(), rank);
            let watch = Watch::new(own, 0, vec![0, 1, 2], of(own), None, noted.clone()).unwrap();
            of(own).state(RankState::Running);
            let sleeper = || Command::new("sleep").arg("1000").spawn().unwrap();
            let mut bench = Bench { watch, others: Vec::new(), page, noted, launcher: Some(launcher) };
            let others: Vec<Child> = (0..2).map(|_| sleeper()).collect();
            let ranks = (0..3).filter(|rank| *rank != own);
            ranks.zip(&others).for_each(|(rank, child)| bench.post(rank, RankState::Running, child.id()));
            bench.others = others;
            bench
        }

        fn post(&self, rank: u32, state: RankState, pid: u32) {
            let record = RankRecord::new(state, pid, None);
            pwrite(&self.page, record.bytes(), u64::from(rank) * record.bytes().len() as u64).unwrap();
        }

        fn kill(&mut self, index: usize) {
            self.others[index].kill().unwrap();
            self.others[index].wait().unwrap();
        }
    }

    impl Drop for Bench {
        fn drop(&mut self) {
            (0..self.others.len()).for_each(|index| self.kill(index));
        }
    }

    #[test]
    fn a_death_ends_the_job_and_names_the_rank() {
        let mut bench = Bench::new(0);
        bench.kill(1);
        let verdict = bench.watch.run().unwrap();
        assert!(verdict.message.as_ref().unwrap().contains("rank 2 (process"), "{verdict:?}");
        bench.watch.tell_ranks(&verdict);
        bench.watch.end_job(&verdict);
        assert_eq!(*bench.noted.aborts.lock().unwrap(), [1]);
        assert_eq!(read_record(&bench.page, 0).unwrap().abort_code(), Some(1));
    }

    #[test]
    fn what_another_rank_has_said_is_not_said_again() {
        let mut bench = Bench::new(1);
        let first = bench.others[0].id();
        pwrite(&bench.page, RankRecord::aborted(first, 7).bytes(), 0).unwrap();
        bench.kill(0);
        assert_eq!(bench.watch.run(), Some(WatchVerdict { code: 7, message: None, culprit: 0 }));
    }

    #[test]
    fn the_second_watches_over_the_first_and_takes_its_place() {
        let mut bench = Bench::new(1);
        let first = bench.others[0].id();
        bench.post(0, RankState::Finalized, first);
        bench.kill(0);
        // Rank 0 has ended well, so that rank 1 is the first and watches over rank 2.
        bench.kill(1);
        assert!(bench.watch.run().unwrap().message.unwrap().contains("rank 2"));
    }

    #[test]
    fn it_can_be_stopped() {
        let mut bench = Bench::new(0);
        bench.watch.stop().stop().unwrap();
        assert_eq!(bench.watch.run(), None);
    }

    /// As when a program closes all descriptors and opens files of its own, while the watch sleeps.
    #[test]
    fn closed_descriptors_are_no_death_of_others() {
        let mut bench = Bench::new(0);
        let file = memfd_create("own", MemfdFlags::CLOEXEC).unwrap();
        Arc::get_mut(&mut bench.watch.stop).unwrap().lose_to(&file);
        assert!(bench.watch.stop().stop().unwrap_err().contains("closed descriptors"));
        bench.kill(1);
        let verdict = bench.watch.run().unwrap();
        assert!(verdict.message.as_ref().unwrap().contains("rank 0: the program has closed"), "{verdict:?}");
        bench.watch.tell_ranks(&verdict);
        assert_eq!(read_record(&bench.page, 0).unwrap().abort_code(), Some(1));
        assert_eq!(fstat(&file).unwrap().st_size, 0);
    }

    #[test]
    fn a_launcher_that_dies_takes_its_ranks_along() {
        let mut bench = Bench::new(0);
        bench.launcher = None;
        assert!(bench.watch.run().unwrap().message.unwrap().contains("launcher"));
    }
}
