//! The rank's side of PMI-1, under the launchers of MPICH and its relatives.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
use rustix::buffer::spare_capacity;
use rustix::event::PollFlags;
use rustix::io::{Errno, IoSliceMut, retry_on_intr};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, SocketFlags, SocketType,
    recv, recvmsg, send, socketpair,
};

use crate::bootstrap::voice::Voice;
use crate::hex::{from_hex, to_hex};
use crate::limits::{ENDPOINT_ADDRESS_BYTES_MAX, PMI_ANSWER_BYTES_MAX, PMI_READ_BYTES, PMI_VALUE_BYTES_SURE};
use crate::link::RankDirectory;
use crate::pmi::{PmiLine, unescape};
use crate::reserved_fd::ReservedFd;
use crate::spawn_request::SpawnRequest;

/// A connection to a launcher that has answered.
#[derive(Debug)]
pub(crate) struct Pmi1Client {
    socket: Arc<ReservedFd>,
    buffer: Vec<u8>,
    /// The name of the job's store of keys.
    store: String,
    /// How long a value may be; not known before one is long.
    value_bytes_max: Option<usize>,
    /// What Tern's `mpirun` has said without being asked: worlds that have ended, and how.
    ended: Vec<(u32, String)>,
}

impl Pmi1Client {
    /// Takes over the descriptor that the launcher has handed down, and greets.
    pub(crate) fn connect(number: RawFd) -> io::Result<Pmi1Client> {
        Pmi1Client::over(take_over(number)?)
    }

    /// Connects to a launcher that listens at `HOST:PORT`, and greets. The launcher says which rank this is, and of how many.
    pub(crate) fn call(address: &str, id: u32) -> io::Result<(Pmi1Client, u32, u32)> {
        let connection = TcpStream::connect(address)?;
        connection.set_nodelay(true)?;
        let mut client = Pmi1Client::new(connection.into());
        client.ask(&format!("cmd=initack pmiid={id}"), "initack")?;
        // Three lines follow without being asked for, in this order.
        let [size, rank, _debug] = [client.told("size")?, client.told("rank")?, client.told("debug")?];
        Ok((client.greet()?, rank, size))
    }

    /// Greets over a socket.
    pub(crate) fn over(socket: OwnedFd) -> io::Result<Pmi1Client> {
        Pmi1Client::new(socket).greet()
    }

    fn new(socket: OwnedFd) -> Pmi1Client {
        let (socket, buffer, ended) = (Arc::new(socket.into()), Vec::new(), Vec::new());
        Pmi1Client { socket, buffer, store: String::new(), value_bytes_max: None, ended }
    }

    fn greet(mut self) -> io::Result<Pmi1Client> {
        self.ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init")?;
        let answer = self.ask("cmd=get_my_kvsname", "my_kvsname")?;
        self.store = PmiLine::new(&answer).get("kvsname").unwrap_or_default().into();
        Ok(self)
    }

    /// What the launcher sets by the next line.
    fn told(&mut self, name: &str) -> io::Result<u32> {
        let line = self.receive()?;
        let wrong =
            || io::Error::other(format!("the launcher said '{}' in place of {name}", line.trim_end()));
        number_in(&line, name).filter(|_| PmiLine::new(&line).command() == "set").ok_or_else(wrong)
    }

    /// The name of the job's store.
    pub(crate) fn store(&self) -> &str {
        &self.store
    }

    /// Which program of the launcher's command line this is.
    pub(crate) fn appnum(&mut self) -> Option<u32> {
        let answer = self.ask("cmd=get_appnum", "appnum").ok()?;
        number_in(&answer, "appnum")
    }

    /// `MPI_UNIVERSE_SIZE`.
    pub(crate) fn universe(&mut self) -> Option<u32> {
        let answer = self.ask("cmd=get_universe_size", "universe_size").ok()?;
        number_in(&answer, "size")
    }

    /// Puts a value into the store. It is visible to others after the next barrier.
    pub(crate) fn put(&mut self, key: &str, value: &str) -> io::Result<()> {
        if value.len() >= PMI_VALUE_BYTES_SURE {
            let most = self.value_bytes_max()?;
            if value.len() >= most {
                let text = format!("the launcher takes {most} bytes at most, not {}", value.len());
                return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
            }
        }
        let words = format!("cmd=put kvsname={} key={key} value={value}", self.store);
        self.ask(&words, "put_result").map(drop)
    }

    fn value_bytes_max(&mut self) -> io::Result<usize> {
        if let Some(most) = self.value_bytes_max {
            return Ok(most);
        }
        let maxes = self.ask("cmd=get_maxes", "maxes")?;
        let most = number_in(&maxes, "vallen_max").unwrap_or(0) as usize;
        Ok(*self.value_bytes_max.insert(most))
    }

    /// A value of the store; `None` if nobody has put it.
    pub(crate) fn get(&mut self, key: &str) -> io::Result<Option<String>> {
        self.send_get(key)?;
        let answer = self.receive()?;
        Ok(value_of(&answer))
    }

    /// Waits for all ranks.
    pub(crate) fn barrier(&mut self) -> io::Result<()> {
        self.ask("cmd=barrier_in", "barrier_out").map(drop)
    }

    /// Whether the launcher is Tern's own, which understands more.
    pub(crate) fn is_tern(&self) -> bool {
        self.store.starts_with("tern_")
    }

    /// Starts a world. Tern's own launcher answers with a number for it.
    pub(crate) fn spawn(&mut self, request: &SpawnRequest) -> Result<u32, String> {
        let text = request.text(self.is_tern())?;
        say(&self.socket, text.trim_end()).map_err(|error| error.to_string())?;
        let answer = self.receive().map_err(|error| format!("the launcher does not answer: {error}"))?;
        let line = PmiLine::new(&answer);
        match line.get("rc") {
            Some("0") => Ok(line.get("spawn").and_then(|number| number.parse().ok()).unwrap_or(0)),
            _ => Err(reason(&line)),
        }
    }

    /// Says a line that asks for nothing more than a result.
    pub(crate) fn request(&mut self, words: &str) -> Result<Option<String>, String> {
        say(&self.socket, words).map_err(|error| error.to_string())?;
        let answer = self.receive().map_err(|error| format!("the launcher does not answer: {error}"))?;
        let line = PmiLine::new(&answer);
        let failed =
            line.get("rc").is_some_and(|rc| rc != "0") || line.get("info").is_some_and(|info| info != "ok");
        if failed { Err(reason(&line)) } else { Ok(line.get("port").map(String::from)) }
    }

    /// Says a line that has no answer.
    pub(crate) fn notify(&mut self, words: &str) {
        // A launcher that is gone needs to know nothing.
        let _ = say(&self.socket, words);
    }

    /// How a world has ended that was started from here, if it has.
    pub(crate) fn ended(&mut self, spawn: u32) -> Option<String> {
        while let Ok(true) = self.read_more() {}
        while let Ok(Some(line)) = self.take_line() {
            self.note(&PmiLine::new(&line));
        }
        let at = self.ended.iter().position(|(number, _)| *number == spawn)?;
        Some(self.ended.swap_remove(at).1)
    }

    pub(crate) fn fd(&self) -> RawFd {
        self.socket.as_fd().as_raw_fd()
    }

    fn read_more(&mut self) -> io::Result<bool> {
        let before = self.buffer.len();
        self.read(RecvFlags::DONTWAIT).map(|()| self.buffer.len() > before)
    }

    /// Whether the line is one that nobody has asked for.
    fn note(&mut self, line: &PmiLine<'_>) -> bool {
        let is_note = line.command() == "world_ended";
        if is_note && let Some(number) = line.get("spawn").and_then(|number| number.parse().ok()) {
            self.ended.push((number, reason(line)));
        }
        is_note
    }

    /// How the job is ended while somebody else has the connection.
    pub(crate) fn voice(&self) -> Pmi1Voice {
        Pmi1Voice(self.socket.clone())
    }

    fn send_get(&mut self, key: &str) -> io::Result<()> {
        say(&self.socket, &format!("cmd=get kvsname={} key={key}", self.store))
    }

    /// Sends a command and waits for its answer.
    fn ask(&mut self, words: &str, expected: &str) -> io::Result<String> {
        say(&self.socket, words)?;
        let answer = self.receive()?;
        let line = PmiLine::new(&answer);
        if line.command() == expected && line.get("rc").is_none_or(|rc| rc == "0") {
            return Ok(answer);
        }
        Err(io::Error::other(format!("the launcher answered '{}' to '{words}'", line.text())))
    }

    fn receive(&mut self) -> io::Result<String> {
        loop {
            if let Some(line) = self.take_line()? {
                if !self.note(&PmiLine::new(&line)) {
                    return Ok(line);
                }
                continue;
            }
            self.read(RecvFlags::empty())?;
        }
    }

    /// Reads what has come. The end of the connection is an error.
    fn read(&mut self, flags: RecvFlags) -> io::Result<()> {
        self.buffer.reserve(PMI_READ_BYTES);
        let received = self
            .socket
            .with(|socket| recv(socket, spare_capacity(&mut self.buffer), flags).map(|(_, count)| count));
        match received {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => Ok(()),
            Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn take_line(&mut self) -> io::Result<Option<String>> {
        let Some(end) = self.buffer.iter().position(|&byte| byte == b'\n') else {
            let sane = self.buffer.len() < PMI_ANSWER_BYTES_MAX;
            return if sane { Ok(None) } else { Err(io::ErrorKind::InvalidData.into()) };
        };
        let line = self.buffer.drain(..=end).collect();
        String::from_utf8(line).map(Some).map_err(|_| io::ErrorKind::InvalidData.into())
    }
}

/// The part of the connection that only speaks.
#[derive(Clone, Debug)]
pub(crate) struct Pmi1Voice(Arc<ReservedFd>);

impl Voice for Pmi1Voice {
    fn abort(&self, code: i32, _message: &str) -> io::Result<()> {
        say(&self.0, &format!("cmd=abort exitcode={code}"))
    }

    /// Waits for the answer, since the connection may not end before it.
    fn finalize(&self) {
        if say(&self.0, "cmd=finalize").is_ok() {
            let answer =
                |socket: BorrowedFd<'_>| recv(socket, &mut [0; PMI_READ_BYTES], RecvFlags::empty()).map(drop);
            let _ = retry_on_intr(|| self.0.with(answer));
        }
    }

    fn connection(&self) -> Option<(BorrowedFd<'_>, PollFlags)> {
        // Over TCP, the end of the other side alone is no hang-up.
        Some((self.0.as_fd(), PollFlags::RDHUP))
    }
}

/// The link of a rank whose launcher speaks PMI: an endpoint address is a value in the store.
#[derive(Debug)]
pub(crate) struct PmiLink {
    client: Pmi1Client,
    rank: u32,
    /// Ranks whose endpoint addresses are wanted; the first has been asked for if `asked`.
    wanted: VecDeque<u32>,
    asked: bool,
    /// The answer for the first of them, where it was taken for another question's sake.
    ready: VecDeque<String>,
}

impl PmiLink {
    pub(crate) fn new(client: Pmi1Client, rank: u32) -> PmiLink {
        PmiLink { client, rank, wanted: VecDeque::new(), asked: false, ready: VecDeque::new() }
    }

    /// The connection, for a question of another kind: the answer to the last one is taken first.
    pub(crate) fn client(&mut self) -> io::Result<&mut Pmi1Client> {
        if self.asked {
            let line = self.client.receive()?;
            self.ready.push_back(line);
            self.asked = false;
        }
        Ok(&mut self.client)
    }

    /// The launcher answers one question after the other.
    fn ask_on(&mut self) {
        if let Some(&rank) = self.wanted.front().filter(|_| !self.asked) {
            self.asked = self.client.send_get(&endpoint_key(rank)).is_ok();
        }
    }
}

impl RankDirectory for PmiLink {
    /// All ranks publish at the same time: it is a barrier.
    fn publish(&mut self, endpoint_address: &[u8]) -> io::Result<()> {
        self.client.put(&endpoint_key(self.rank), &to_hex(endpoint_address))?;
        self.client.barrier()
    }

    fn ask(&mut self, rank: u32) {
        self.wanted.push_back(rank);
        self.ask_on();
    }

    fn answer(&mut self) -> Option<(u32, Vec<u8>)> {
        while self.asked || !self.ready.is_empty() {
            let kept = self.ready.pop_front();
            if let Some(line) = kept.map_or_else(|| self.client.take_line().ok(), |line| Some(Some(line)))? {
                self.asked = false;
                let rank = self.wanted.pop_front()?;
                self.ask_on();
                match value_of(&line).and_then(|value| from_hex(&value)) {
                    Some(endpoint_address) if endpoint_address.len() <= ENDPOINT_ADDRESS_BYTES_MAX => {
                        return Some((rank, endpoint_address));
                    }
                    // That rank has published nothing: it will not be reached.
                    _ => continue,
                }
            }
            self.client.read(RecvFlags::DONTWAIT).ok()?;
        }
        None
    }

    fn fd(&self) -> RawFd {
        self.client.fd()
    }
}

/// One that the launcher is asked other things by, too.
impl RankDirectory for Arc<Mutex<PmiLink>> {
    fn publish(&mut self, endpoint_address: &[u8]) -> io::Result<()> {
        locked(self).publish(endpoint_address)
    }

    fn ask(&mut self, rank: u32) {
        locked(self).ask(rank);
    }

    fn answer(&mut self) -> Option<(u32, Vec<u8>)> {
        locked(self).answer()
    }

    fn fd(&self) -> RawFd {
        locked(self).client.fd()
    }
}

/// The link, whoever panicked with it.
pub(crate) fn locked<T>(link: &Mutex<T>) -> MutexGuard<'_, T> {
    link.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why a launcher refuses, for a person.
fn reason(line: &PmiLine<'_>) -> String {
    let text = line.get("msg").or(line.get("error_msg"));
    text.and_then(unescape).unwrap_or_else(|| format!("the launcher says '{}'", line.text()))
}

fn endpoint_key(rank: u32) -> String {
    format!("tern-endpoint-{rank}")
}

fn number_in(answer: &str, name: &str) -> Option<u32> {
    PmiLine::new(answer).get(name)?.parse().ok()
}

fn value_of(answer: &str) -> Option<String> {
    let line = PmiLine::new(answer);
    (line.get("rc") == Some("0")).then(|| line.get("value").map(String::from))?
}

fn say(socket: &ReservedFd, words: &str) -> io::Result<()> {
    let bytes = format!("{words}\n").into_bytes();
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        match socket.with(|socket| send(socket, rest, SendFlags::NOSIGNAL)) {
            Ok(count) => rest = &rest[count..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// The inherited descriptor as one that this process owns: the kernel makes such a copy for whoever a socket sends it to,
/// which may be oneself. The inherited one is closed, so that no program which the rank starts has it.
fn take_over(number: RawFd) -> io::Result<OwnedFd> {
    let (here, there) = socketpair(AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    let rights = [number];
    let message = [ControlMessage::ScmRights(&rights)];
    sendmsg::<()>(here.as_raw_fd(), &[IoSlice::new(&[0])], &message, MsgFlags::empty(), None)?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    recvmsg(&there, &mut [IoSliceMut::new(&mut [0])], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let received = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    let _ = nix::unistd::close(number);
    // The kernel drops what finds no number.
    received.ok_or_else(|| Errno::MFILE.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Write};
    use std::os::fd::IntoRawFd;
    use std::os::unix::net::UnixStream;

    /// A launcher that gives these answers, one to each line, and returns the lines.
    fn launcher(answers: &'static [&'static str]) -> (RawFd, std::thread::JoinHandle<Vec<String>>) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let serve = move || {
            let mut lines = BufReader::new(ours.try_clone().unwrap()).lines();
            let answered = answers.iter().map_while(|answer| {
                let line = lines.next()?.ok()?;
                writeln!(&ours, "{answer}").ok()?;
                Some(line)
            });
            answered.collect()
        };
        (theirs.into_raw_fd(), std::thread::spawn(serve))
    }

    const GREETINGS: [&str; 2] =
        ["cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0", "cmd=my_kvsname kvsname=kvs_1_0"];

    #[test]
    fn cards_go_through_the_store() {
        let (number, thread) = launcher(&[
            GREETINGS[0],
            GREETINGS[1],
            "cmd=put_result rc=0 msg=success",
            "cmd=barrier_out",
            "cmd=get_result rc=-1 msg=key_not_found value=unknown",
            "cmd=get_result rc=0 msg=success value=00ff",
        ]);
        let client = Pmi1Client::connect(number).unwrap();
        assert_eq!(client.store(), "kvs_1_0");
        let mut link = PmiLink::new(client, 3);
        link.publish(&[1, 0xab]).unwrap();
        link.ask(8);
        link.ask(9);
        let mut answer = None;
        while answer.is_none() {
            answer = link.answer();
        }
        assert_eq!(answer, Some((9, vec![0, 0xff])));
        let lines = thread.join().unwrap();
        assert_eq!(lines[2], "cmd=put kvsname=kvs_1_0 key=tern-endpoint-3 value=01ab");
        assert_eq!(lines[5], "cmd=get kvsname=kvs_1_0 key=tern-endpoint-9");
        assert_eq!(link.answer(), None);
    }

    #[test]
    fn a_launcher_is_asked_how_long_a_value_may_be() {
        let (number, thread) = launcher(&[
            GREETINGS[0],
            GREETINGS[1],
            "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=300",
            "cmd=put_result rc=0",
        ]);
        let mut client = Pmi1Client::connect(number).unwrap();
        assert!(client.put("long", &"x".repeat(300)).unwrap_err().to_string().contains("300 bytes at most"));
        client.put("long", &"x".repeat(299)).unwrap();
        let lines = thread.join().unwrap();
        assert_eq!(lines[2], "cmd=get_maxes");
        assert!(lines[3].starts_with("cmd=put kvsname=kvs_1_0 key=long value=x"));
    }

    /// A launcher that listens, and has these answers to `initack`.
    fn listening(answers: &'static str) -> (String, std::thread::JoinHandle<String>) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let serve = move || {
            let mut connection = listener.accept().unwrap().0;
            let mut lines = BufReader::new(connection.try_clone().unwrap()).lines();
            let first = lines.next().unwrap().unwrap();
            connection.write_all(answers.as_bytes()).unwrap();
            for answer in GREETINGS.iter().take_while(|_| lines.next().is_some()) {
                writeln!(connection, "{answer}").unwrap();
            }
            first
        };
        (address, std::thread::spawn(serve))
    }

    #[test]
    fn a_launcher_that_listens_says_who_this_is() {
        // Hydra 3 and 4 add no more to the first line; Hydra 5 does.
        for first in ["cmd=initack", "cmd=initack rc=0 rank=1 size=3 appnum=0 debug=0"] {
            let answers = format!("{first}\ncmd=set size=3\ncmd=set rank=1\ncmd=set debug=0\n").leak();
            let (address, thread) = listening(answers);
            let (client, rank, size) = Pmi1Client::call(&address, 1).unwrap();
            assert_eq!((rank, size, client.store()), (1, 3, "kvs_1_0"));
            assert_eq!(thread.join().unwrap(), "cmd=initack pmiid=1");
        }
        let (address, _) = listening("cmd=initack\ncmd=set rank=1\n");
        assert!(Pmi1Client::call(&address, 1).unwrap_err().to_string().contains("in place of size"));
    }

    #[test]
    fn a_launcher_that_refuses_or_goes_is_an_error() {
        let (number, _) = launcher(&["cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=-1"]);
        assert!(Pmi1Client::connect(number).unwrap_err().to_string().contains("rc=-1"));
        let (number, _) = launcher(&GREETINGS[..1]);
        assert!(Pmi1Client::connect(number).is_err());
        assert!(Pmi1Client::connect(1_000_000).is_err());
    }
}
