//! Two groups of processes that have nothing in common meet (MPI 5.0 section 11.9): one process of each talks with the other, and tells
//! its group.

use std::borrow::Cow;
use std::ffi::c_int;
use std::io;
use std::time::{Duration, Instant};

use tern_abi::*;
use tern_engine::Group;
use tern_tcp::Talk;
use tern_transport::SettingsFingerprint;
use tern_transport::fingerprint::FINGERPRINT_BYTES;

use super::introduce::{IntroducedProcess, Veil, decode, encode, garbled, gather, learn, worlds_of};
use super::object::GroupMeeting;
use super::ports::{door_of, parse, place_of};
use super::worlds::chance;
use crate::comm::agree::{Participants, number, record};
use crate::comm::make::{adopt, in_block};
use crate::comm::object::Contexts;
use crate::core::arguments::root;
use crate::core::boundary::{AtRoot, Handed};
use crate::core::entry::entry;
use crate::core::error::{Error, Result, fail};
use crate::core::process::{Process, enter};
use crate::core::wait::{self, Waiting};
use crate::limits::{CONNECT_S, CONTEXTS_PER_BLOCK, TALK_S};

entry! {
    /// Waits at a port for processes of another world (section 11.9.2).
    safe fn MPI_Comm_accept(
        port_name: AtRoot<Cow<'_, str>>, info: MPI_Info, root: c_int, comm: MPI_Comm, newcomm: Handed<'_, MPI_Comm>,
    ) on comm {
        const CALL: &str = "MPI_Comm_accept";
        let connecting = ConnectingProcess::of(CALL, comm, root)?;
        let door = connecting.at_root(|| {
            enter().hints(info)?;
            door_of(&port_name.get()?)
        });
        newcomm.set(connecting.introduce(true, |mine| Ok((accept(CALL, door?, mine, |_| None)?, None)))?);
        Ok(())
    }

    /// Connects to a port at which another world accepts (section 11.9.2).
    safe fn MPI_Comm_connect(
        port_name: AtRoot<Cow<'_, str>>, info: MPI_Info, root: c_int, comm: MPI_Comm, newcomm: Handed<'_, MPI_Comm>,
    ) on comm {
        const CALL: &str = "MPI_Comm_connect";
        let connecting = ConnectingProcess::of(CALL, comm, root)?;
        let way = connecting.at_root(|| Ok((port_name.get()?.into_owned(), patience(info)?)));
        newcomm.set(connecting.introduce(false, |mine| {
            let (name, patience) = way?;
            Ok((connect(CALL, &name, patience, mine)?, None))
        })?);
        Ok(())
    }
}

/// How long to wait for the other side to accept.
fn patience(info: MPI_Info) -> Result<Duration> {
    let hints = enter().hints(info)?;
    let Some(text) = hints.get("timeout") else { return Ok(Duration::from_secs(CONNECT_S)) };
    let seconds = text.trim().parse().ok().filter(|seconds: &u64| *seconds <= 1_000_000);
    let seconds = seconds.ok_or_else(|| {
        fail(MPI_ERR_INFO_VALUE, format!("timeout is '{text}', which is no number of seconds"))
    })?;
    Ok(Duration::from_secs(seconds))
}

/// This process's place in a group that meets another one.
pub(crate) struct ConnectingProcess {
    comm: MPI_Comm,
    participants: Participants,
    root: u32,
}

/// What the one who talks for a group has heard, or why there is nothing.
type HeardByRoot = Result<Vec<u8>>;

/// What the other side has said, and the launcher's number of the world if it was started for this.
type Met = (Vec<u8>, Option<u32>);

impl ConnectingProcess {
    /// In the call of all members of an intracommunicator.
    pub(crate) fn of(call: &'static str, comm: MPI_Comm, root_rank: c_int) -> Result<ConnectingProcess> {
        let process = enter();
        let this = process.comm(comm)?;
        if this.remote.is_some() {
            return Err(fail(MPI_ERR_COMM, "this is an intercommunicator; an intracommunicator is needed"));
        }
        let root = root(this, root_rank)?;
        Ok(ConnectingProcess { comm, participants: Participants::local(call, this), root })
    }

    /// Whether this process talks for its group.
    pub(crate) fn is_root(&self) -> bool {
        self.participants.rank == self.root
    }

    /// What counts at the root only.
    pub(crate) fn at_root<T>(&self, read: impl FnOnce() -> Result<T>) -> Result<T> {
        if self.is_root() { read() } else { Err(garbled()) }
    }

    /// The root's number, for all.
    pub(crate) fn roots_number(&self, mine: u64) -> Result<u64> {
        let mine = self.is_root().then(|| record(&[mine]));
        Ok(number(&self.participants.bcast(self.root, mine.as_deref())?, 0))
    }

    /// All members call. At the root, `talk` says what it is given to the other side, and returns what that said. The side that accepts
    /// names the context. An error of the root's is everybody's.
    pub(crate) fn introduce(
        self,
        accepts: bool,
        talk: impl FnOnce(&[u8]) -> Result<Met>,
    ) -> Result<MPI_Comm> {
        let ours = gather(&self.participants)?;
        let mut spawned = None;
        let note = |(heard, number)| {
            spawned = number;
            heard
        };
        let told = match self.is_root() {
            true => Some(outcome(self.talk(&ours, accepts, |mine| talk(mine).map(note)))),
            false => None,
        };
        let told = self.participants.bcast(self.root, told.as_deref())?;
        let told = verdict(&told)?;
        self.conclude(told, spawned)
    }

    /// What this process hears for its group, as it tells it.
    fn talk(
        &self,
        ours: &[IntroducedProcess],
        accepts: bool,
        talk: impl FnOnce(&[u8]) -> HeardByRoot,
    ) -> HeardByRoot {
        let mine = IntroductionHello::of(ours, self.root)?;
        let theirs = talk(&mine.bytes)?;
        let process = enter();
        let tcp = process.abroad().ok_or_else(garbled)?;
        let hello = IntroductionHello::read(&theirs, &process.worlds.fingerprint)?;
        let members = decode(hello.members, tcp)?;
        let own = worlds_of(ours);
        if members
            .iter()
            .any(|member| ours.iter().any(|other| other.who.endpoint_address == member.who.endpoint_address))
        {
            return Err(fail(MPI_ERR_COMM, "the two groups have processes in common"));
        }
        let context = if accepts { mine.context } else { hello.context };
        Ok([record(&[context, hello.root.into()]), encode(&members, Veil::For(&own), tcp)].concat())
    }

    fn conclude(self, told: &[u8], spawned: Option<u32>) -> Result<MPI_Comm> {
        let members = decode(told.get(16..).unwrap_or_default(), enter().abroad().ok_or_else(garbled)?)?;
        let remote = learn(&members)?;
        let (context, far_root) = (number(told, 0), number(told, 8) as u32);
        let is_root = self.is_root();
        let far_root = remote.peer(far_root).filter(|_| is_root);
        let made = in_block(context, self.participants.rank, self.participants.group, Some(remote));
        let meeting = GroupMeeting { context: made.lane(crate::comm::object::Lane::Part), far_root, spawned };
        let mut process = enter();
        process.worlds.remember(meeting);
        if let (Some(far), Some(tcp)) = (far_root, process.abroad_mut()) {
            tcp.hold(far);
        }
        drop(process);
        crate::core::progress::look_abroad();
        adopt(self.comm, made)
    }
}

/// An outcome as bytes, for those who have not been there.
fn outcome(heard: HeardByRoot) -> Vec<u8> {
    match heard {
        Ok(bytes) => [&[0][..], &bytes].concat(),
        Err(error) => [&[1][..], &error.code().to_le_bytes(), error.text().as_bytes()].concat(),
    }
}

fn verdict(told: &[u8]) -> Result<&[u8]> {
    match told.split_first() {
        Some((0, rest)) => Ok(rest),
        Some((_, rest)) => {
            let (code, text) = rest.split_first_chunk::<4>().ok_or_else(garbled)?;
            Err(fail(i32::from_le_bytes(*code), String::from_utf8_lossy(text).into_owned()))
        }
        None => Err(garbled()),
    }
}

/// What one side says to the other.
struct IntroductionHello<'a> {
    bytes: Vec<u8>,
    context: u64,
    root: u32,
    members: &'a [u8],
}

impl IntroductionHello<'_> {
    fn of(ours: &[IntroducedProcess], root: u32) -> Result<IntroductionHello<'static>> {
        let context = Contexts::drawn(chance(), CONTEXTS_PER_BLOCK).first();
        let process = enter();
        let members = encode(ours, Veil::None, process.abroad().ok_or_else(garbled)?);
        let numbers = record(&[context, root.into()]);
        let bytes = [&process.worlds.fingerprint.bytes()[..], &numbers, &members].concat();
        Ok(IntroductionHello { bytes, context, root, members: &[] })
    }

    fn read<'a>(bytes: &'a [u8], fingerprint: &SettingsFingerprint) -> Result<IntroductionHello<'a>> {
        let (theirs, rest) = bytes.split_first_chunk::<FINGERPRINT_BYTES>().ok_or_else(garbled)?;
        if let Some(names) = fingerprint.difference_from(theirs) {
            return Err(fail(
                MPI_ERR_OTHER,
                format!(
                    "the other world was started with other settings: {names}; worlds that meet must have the same"
                ),
            ));
        }
        let members = rest.get(16..).ok_or_else(garbled)?;
        Ok(IntroductionHello {
            bytes: Vec::new(),
            context: number(rest, 0),
            root: number(rest, 8) as u32,
            members,
        })
    }
}

/// Waits for somebody at a door of this process who says who it is. `amiss` is asked now and then why nobody will come.
pub(crate) fn accept(
    call: &'static str,
    door: u64,
    mine: &[u8],
    amiss: impl Fn(&mut Process) -> Option<Box<Error>>,
) -> HeardByRoot {
    loop {
        let mut talk = wait::until(
            enter(),
            |_| Waiting::outside(call, "waiting for somebody to connect to the port"),
            |process| match amiss(process) {
                Some(error) => Some(Err(error)),
                None if !process.worlds.ports.iter().any(|(_, open)| *open == door) => {
                    Some(Err(fail(MPI_ERR_PORT, "the port was closed while the call waited at it")))
                }
                None => process.abroad_mut()?.let_in(door).map(Ok),
            },
        )?;
        let limit = Instant::now() + Duration::from_secs(TALK_S);
        // Who has gone meanwhile, or says nothing, is not waited for.
        let Ok(theirs) = hear(call, &mut talk, limit) else { continue };
        let said = talk.say(mine).and_then(|()| flush(call, &mut talk, limit));
        if said.is_ok() {
            return Ok(theirs);
        }
    }
}

/// Goes to a port, and waits until it is opened.
pub(crate) fn connect(call: &'static str, name: &str, patience: Duration, mine: &[u8]) -> HeardByRoot {
    let port = parse(name)?;
    let until = Instant::now() + patience;
    let place = place_of(name);
    let refused =
        |why: String| fail(MPI_ERR_PORT, format!("nobody can be reached at the port {place}#...: {why}"));
    let visit = {
        let mut process = enter();
        let tcp = process.abroad_mut().ok_or_else(garbled)?;
        tcp.wake_by(until);
        tcp.visit(&port.endpoint_address, port.secret, patience)
            .ok_or_else(|| refused("it names no address".into()))?
    };
    let seconds = patience.as_secs();
    let silent = || refused(format!("the process that opened it has not answered within {seconds} s"));
    let mut talk = match arrive(call, visit, until) {
        Some(arrived) => arrived.map_err(refused)?,
        None => return Err(silent()),
    };
    talk.say(mine).map_err(|error| refused(error.to_string()))?;
    hear(call, &mut talk, until).map_err(|error| match error.kind() {
        io::ErrorKind::TimedOut => fail(
            MPI_ERR_PORT,
            format!(
                "the port {place}#... is open, but within {seconds} s nobody called MPI_Comm_accept there"
            ),
        ),
        _ => refused(format!("it was closed, or the process that opened it has gone ({error})")),
    })
}

/// How a visit begins. Nothing: nobody has answered by a time.
fn arrive(call: &'static str, visit: u64, until: Instant) -> Option<std::result::Result<Talk, String>> {
    wait::until(
        enter(),
        |_| Waiting::outside(call, "connecting to a port"),
        |process| {
            let tcp = process.abroad_mut()?;
            let arrived = tcp.arrived(visit);
            if arrived.is_none() && Instant::now() >= until {
                tcp.give_up_visit(visit);
                return Some(None);
            }
            arrived.map(Some)
        },
    )
}

/// What the other end says, by a time.
fn hear(call: &'static str, talk: &mut Talk, until: Instant) -> io::Result<Vec<u8>> {
    in_time(call, "waiting for the other side to accept", until, || talk.hear().transpose())
}

/// All that was said is on its way, by a time.
fn flush(call: &'static str, talk: &mut Talk, until: Instant) -> io::Result<()> {
    let mut flushed = || match talk.flush() {
        Ok(false) => None,
        Ok(true) => Some(Ok(())),
        Err(error) => Some(Err(error)),
    };
    in_time(call, "telling the other side", until, &mut flushed)
}

fn in_time<T>(
    call: &'static str,
    detail: &'static str,
    until: Instant,
    mut look: impl FnMut() -> Option<io::Result<T>>,
) -> io::Result<T> {
    wait::until(
        enter(),
        |_| Waiting::outside(call, detail),
        |process| {
            let found = look();
            if found.is_none() {
                if Instant::now() >= until {
                    return Some(Err(io::ErrorKind::TimedOut.into()));
                }
                process.abroad_mut()?.wake_by(until);
            }
            found
        },
    )
}

/// What the group of a communicator's other side is, for a message.
pub(crate) fn remote_size(comm: MPI_Comm) -> u32 {
    enter().comm(comm).map_or(0, |comm| comm.remote.as_ref().map_or(0, Group::size))
}
