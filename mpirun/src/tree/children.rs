//! The agents that are started from here, each with the hosts behind it: the child agents of the tree.

use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::launch::launcher;
use crate::launch::watchdog::{Watchdog, inform};
use crate::limits::{
    AGENT_SILENCE_MAX, AGENT_START_MAX, LAST_WORDS_MAX, LAUNCHER_END_MAX, LAUNCHER_WORDS_BYTES_MAX,
};
use crate::poller::{PollToken, Poller};
use crate::tree::channel::{ChannelInbox, ChannelOutbox, Closed};
use crate::tree::messages::{Down, Orders, Up};

/// All child agents.
#[derive(Debug, Default)]
pub(crate) struct Children {
    list: Vec<ChildAgent>,
}

#[derive(Debug)]
struct ChildAgent {
    /// Numbers of the hosts in ascending order; the agent is on the first.
    hosts: Vec<u32>,
    /// How the launcher is called, for messages.
    launcher: String,
    child: Child,
    to: ChannelOutbox,
    /// `None` once it is lost.
    from: Option<ChannelInbox>,
    /// What the launcher and the agent say on standard error: their end of it.
    words: Vec<u8>,
    errors: Option<std::process::ChildStderr>,
    started: Instant,
    heard: Instant,
}

/// A host that has been lost, and why.
pub(crate) type Loss = (u32, String);

impl Children {
    /// Starts agents for these hosts, by launchers that end with this process. `orders` are the same for all, but for the hosts.
    pub(crate) fn start(
        orders: &Orders,
        hosts: &[(u32, String)],
        arity: usize,
        poller: &Poller,
        watchdog: &mut std::io::Result<Watchdog>,
    ) -> (Children, Vec<Loss>) {
        let (mut list, mut losses) = (Vec::new(), Vec::new());
        for hosts in split(hosts, arity) {
            let index = list.len() as u32;
            match ChildAgent::start(
                &Orders { hosts: hosts.to_vec(), ..orders.clone() },
                index,
                poller,
                watchdog,
            ) {
                Ok(child) => list.push(child),
                Err(error) => {
                    let reason = format!("cannot run '{}': {error}", launcher::name(&orders.launcher));
                    losses.extend(hosts.iter().map(|(host, _)| (*host, reason.clone())));
                }
            }
        }
        (Children { list }, losses)
    }

    /// All hosts of all child agents.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = u32> + '_ {
        self.list.iter().flat_map(|child| child.hosts.iter().copied())
    }

    /// The launchers' processes.
    pub(crate) fn pids(&self) -> impl Iterator<Item = u32> + '_ {
        self.list.iter().map(|child| child.child.id())
    }

    /// The child agent on which a host is.
    pub(crate) fn toward(&self, host: u32) -> Option<u32> {
        let found = self.list.iter().position(|child| child.hosts.binary_search(&host).is_ok());
        found.map(|index| index as u32)
    }

    /// Sends a message to one child agent.
    pub(crate) fn send(&mut self, index: u32, message: &Down) {
        if let Some(child) = self.list.get_mut(index as usize) {
            child.to.push(message);
        }
    }

    /// Sends a message to all.
    pub(crate) fn broadcast(&mut self, message: &Down) {
        self.list.iter_mut().for_each(|child| child.to.push(message));
    }

    /// Writes what the pipes take.
    pub(crate) fn flush(&mut self, poller: &Poller) {
        self.list.iter_mut().for_each(|child| child.to.flush(poller));
    }

    /// A child agent has room again.
    pub(crate) fn on_room(&mut self, index: u32, poller: &Poller) {
        if let Some(child) = self.list.get_mut(index as usize) {
            child.to.on_room(poller);
        }
    }

    /// A child agent has said something, or is lost.
    pub(crate) fn on_message(&mut self, index: u32, poller: &Poller) -> (Vec<Up>, Vec<Loss>) {
        let mut messages = Vec::new();
        let Some(child) = self.list.get_mut(index as usize) else { return (messages, Vec::new()) };
        let result = child.read(&mut messages);
        let losses = result.err().map(|closed| child.lose(closed, poller)).unwrap_or_default();
        (messages, losses)
    }

    /// A launcher or an agent has written to its standard error. Returns whole lines.
    pub(crate) fn on_errors(&mut self, index: u32, poller: &Poller) -> Option<String> {
        self.list.get_mut(index as usize)?.read_errors(poller)
    }

    /// Children that have not been heard for too long.
    pub(crate) fn tick(&mut self, now: Instant, poller: &Poller) -> Vec<Loss> {
        let mut losses = Vec::new();
        for child in self.list.iter_mut().filter(|child| child.is_silent(now)) {
            losses.extend(child.lose_silent(poller));
        }
        losses
    }

    /// Forgives all silence until now: this process has been stopped.
    pub(crate) fn forgive(&mut self) {
        let now = Instant::now();
        self.list.iter_mut().for_each(|child| (child.heard, child.started) = (now, now));
    }

    /// Closes the pipes, upon which the agents end their ranks and themselves, and waits for the launchers' ends.
    pub(crate) fn end(&mut self, poller: &Poller) {
        self.list.iter_mut().for_each(|child| child.to.close(poller));
        let limit = Instant::now() + LAUNCHER_END_MAX;
        while Instant::now() < limit && self.list.iter().any(ChildAgent::runs) {
            std::thread::sleep(Duration::from_millis(2));
        }
        self.list.drain(..).for_each(ChildAgent::kill);
    }
}

/// Divides hosts among at most `arity` child agents.
fn split(hosts: &[(u32, String)], arity: usize) -> impl Iterator<Item = &[(u32, String)]> {
    hosts.chunks(hosts.len().div_ceil(arity.max(1)).max(1))
}

impl ChildAgent {
    /// The launcher gets a process group of its own, so that Ctrl-C in a terminal reaches `mpirun` alone.
    fn start(
        orders: &Orders,
        index: u32,
        poller: &Poller,
        watchdog: &mut std::io::Result<Watchdog>,
    ) -> std::io::Result<ChildAgent> {
        let program = launcher::program(orders.prefix.as_deref())?;
        let name = orders.hosts.first().map(|(_, name)| name.clone()).unwrap_or_default();
        let mut command = launcher::command(&orders.launcher, &name, &program);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = command.spawn()?;
        inform(watchdog, |watchdog| watchdog.watch_over_launcher(Pid::from_child(&child)));
        let (to, from, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(to), Some(from), Some(errors)) = (to, from, errors) else {
            return Err(std::io::ErrorKind::BrokenPipe.into());
        };
        let mut to = ChannelOutbox::new(OwnedFd::from(to), PollToken::BranchRoom(index))?;
        let from = ChannelInbox::new(OwnedFd::from(from), true)?;
        poller.add_reader(&from, PollToken::ChildAgent(index))?;
        poller.add_reader(&errors, PollToken::BranchErrors(index))?;
        to.push(&Down::Start(Box::new(orders.clone())));
        let now = Instant::now();
        Ok(ChildAgent {
            hosts: orders.hosts.iter().map(|(host, _)| *host).collect(),
            launcher: format!("{} {name}", launcher::name(&orders.launcher)),
            child,
            to,
            from: Some(from),
            words: Vec::new(),
            errors: Some(errors),
            started: now,
            heard: now,
        })
    }

    fn read(&mut self, messages: &mut Vec<Up>) -> Result<(), Closed> {
        let Some(from) = &mut self.from else { return Ok(()) };
        let result = from.read();
        while let Some(message) = from.next()? {
            if message == Up::Beat {
                self.to.push(&Down::Beat);
            } else {
                messages.push(message);
            }
        }
        self.heard = Instant::now();
        result
    }

    fn read_errors(&mut self, poller: &Poller) -> Option<String> {
        let errors = self.errors.as_mut()?;
        let mut bytes = [0; LAUNCHER_WORDS_BYTES_MAX];
        let count = errors.read(&mut bytes).unwrap_or(0);
        if count == 0 {
            poller.remove(&*errors);
            self.errors = None;
            return None;
        }
        self.words.extend_from_slice(&bytes[..count]);
        let surplus = self.words.len().saturating_sub(LAUNCHER_WORDS_BYTES_MAX);
        self.words.drain(..surplus);
        Some(String::from_utf8_lossy(&bytes[..count]).trim_end().to_owned())
    }

    fn is_silent(&self, now: Instant) -> bool {
        match &self.from {
            None => false,
            Some(from) if from.awaits_greeting() => now >= self.started + AGENT_START_MAX,
            Some(_) => now >= self.heard + AGENT_SILENCE_MAX,
        }
    }

    fn lose_silent(&mut self, poller: &Poller) -> Vec<Loss> {
        let awaits_greeting = self.from.as_ref().is_some_and(ChannelInbox::awaits_greeting);
        let (what, time) = if awaits_greeting {
            ("did not start an agent within", AGENT_START_MAX)
        } else {
            ("has been silent for", AGENT_SILENCE_MAX)
        };
        let said = self.said();
        self.drop_connection(poller);
        self.losses(format!("'{}' {what} {} s{said}", self.launcher, time.as_secs()))
    }

    fn lose(&mut self, closed: Closed, poller: &Poller) -> Vec<Loss> {
        self.read_last_words(poller);
        let said = self.said();
        self.drop_connection(poller);
        let end = self.how_ended();
        let reason = match closed {
            Closed::End => format!("'{}' {end}", self.launcher),
            Closed::Garbled => format!(
                "'{}' does not speak as an agent of this version: is the same Tern installed there?",
                self.launcher
            ),
        };
        self.losses(reason + &said)
    }

    /// What the launcher has said, on standard error or instead of the agent's greeting, as the end of a message.
    fn said(&self) -> String {
        let babble = self.from.as_ref().map(ChannelInbox::babble).unwrap_or_default();
        let said = [String::from_utf8_lossy(&self.words).into_owned(), babble].map(|text| one_line(&text));
        said.into_iter().find(|said| !said.is_empty()).map(|said| format!(": {said}")).unwrap_or_default()
    }

    fn losses(&self, reason: String) -> Vec<Loss> {
        self.hosts.iter().map(|&host| (host, reason.clone())).collect()
    }

    fn drop_connection(&mut self, poller: &Poller) {
        if let Some(from) = self.from.take() {
            poller.remove(&from);
        }
        self.to.close(poller);
    }

    /// The reason may come a moment after the end of the output.
    fn read_last_words(&mut self, poller: &Poller) {
        let limit = Instant::now() + LAST_WORDS_MAX;
        while let Some(errors) = &self.errors {
            let left = limit.saturating_duration_since(Instant::now());
            let left = Timespec { tv_sec: 0, tv_nsec: left.subsec_nanos().into() };
            if !poll(&mut [PollFd::new(errors, PollFlags::IN)], Some(&left)).is_ok_and(|ready| ready > 0) {
                return;
            }
            self.read_errors(poller);
        }
    }

    fn how_ended(&self) -> String {
        let limit = Instant::now() + LAST_WORDS_MAX;
        while Instant::now() < limit && self.runs() {
            std::thread::sleep(Duration::from_millis(2));
        }
        match self.look_for_end() {
            Some(status) => format!("ended ({status})"),
            None => "closed the connection".into(),
        }
    }

    fn runs(&self) -> bool {
        self.look_for_end().is_none()
    }

    /// How the launcher has ended, if it has. It is not reaped before the watchdog is dismissed: the watchdog would kill whoever got
    /// its number.
    fn look_for_end(&self) -> Option<ExitStatus> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let status = waitid(WaitId::Pid(Pid::from_child(&self.child)), options).ok()??;
        let raw = status.exit_status().map(|status| status << 8).or(status.terminating_signal());
        raw.map(ExitStatus::from_raw)
    }

    fn kill(mut self) {
        if self.runs() {
            let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

/// What was said, for a message of one line.
fn one_line(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join("; ").chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::TREE_ARITY;

    #[test]
    fn hosts_are_divided_evenly() {
        let hosts: Vec<_> = (0..10).map(|host| (host, host.to_string())).collect();
        let sizes = |arity| split(&hosts, arity).map(<[_]>::len).collect::<Vec<_>>();
        assert_eq!(sizes(16), [1; 10]);
        assert_eq!(sizes(3), [4, 4, 2]);
        assert_eq!(sizes(1), [10]);
        assert_eq!(split(&[], 4).count(), 0);
    }

    /// A process takes so long to start one launcher, and the agent behind it is there so much later.
    const START_MS: u64 = 5;
    const LAUNCH_MS: u64 = 300;

    /// When the last of these hosts has its agent, whose parent begins at `begin`, and how many agents are on the way to it.
    fn last_start(hosts: &[(u32, String)], arity: usize, begin: u64) -> (u64, u32) {
        let mut last = (begin, 0);
        for (nth, part) in split(hosts, arity).enumerate() {
            let there = begin + (nth as u64 + 1) * START_MS + LAUNCH_MS;
            let (time, depth) = last_start(&part[1..], arity, there);
            last = (last.0.max(time), last.1.max(depth + 1));
        }
        last
    }

    #[test]
    fn the_start_of_many_hosts_takes_the_logarithm_of_their_number() {
        let level = LAUNCH_MS + u64::from(TREE_ARITY) * START_MS;
        for count in [1, 16, 17, 272, 1024, 4000] {
            let hosts: Vec<_> = (0..count).map(|host| (host, host.to_string())).collect();
            let (time, depth) = last_start(&hosts, TREE_ARITY as usize, 0);
            // 16, 16 + 16 * 16 and so on fit into 1, 2 and more levels.
            let levels = (1..).scan(0, |fit, _| {
                *fit = (*fit + 1) * TREE_ARITY;
                Some(*fit)
            });
            let least = 1 + levels.take_while(|fit| *fit < count).count() as u32;
            assert_eq!(depth, least, "{count} hosts");
            assert!(time <= u64::from(depth) * level, "{count} hosts after {time} ms");
        }
    }

    #[test]
    fn words_of_a_launcher_become_one_line() {
        assert_eq!(one_line("ssh: no\r\n\n route\x1b\n"), "ssh: no; route?");
    }
}
