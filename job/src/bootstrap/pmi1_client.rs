//! The rank's side of PMI-1, under the launchers of MPICH and its relatives.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::Arc;

use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
use rustix::io::{Errno, IoSliceMut};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, SocketFlags, SocketType,
    recv, recvmsg, send, socketpair,
};

use crate::limits::{CARD_BYTES_MAX, PMI_ANSWER_BYTES_MAX};
use crate::pmi::Line;

/// A connection to a launcher that has answered.
#[derive(Debug)]
pub(crate) struct Client {
    socket: Arc<OwnedFd>,
    buffer: Vec<u8>,
    /// The name of the job's store of keys.
    store: String,
    value_bytes_max: usize,
}

impl Client {
    /// Takes over the descriptor that the launcher has handed down, and greets.
    pub fn connect(number: RawFd) -> io::Result<Client> {
        let socket = Arc::new(take_over(number)?);
        let mut client = Client { socket, buffer: Vec::new(), store: String::new(), value_bytes_max: 0 };
        client.ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init")?;
        let maxes = client.ask("cmd=get_maxes", "maxes")?;
        client.value_bytes_max = number_in(&maxes, "vallen_max").unwrap_or(0) as usize;
        let answer = client.ask("cmd=get_my_kvsname", "my_kvsname")?;
        client.store = Line::new(&answer).get("kvsname").unwrap_or_default().into();
        Ok(client)
    }

    /// The name of the job's store.
    pub fn store(&self) -> &str {
        &self.store
    }

    /// Which program of the launcher's command line this is.
    pub fn appnum(&mut self) -> Option<u32> {
        let answer = self.ask("cmd=get_appnum", "appnum").ok()?;
        number_in(&answer, "appnum")
    }

    /// `MPI_UNIVERSE_SIZE`.
    pub fn universe(&mut self) -> Option<u32> {
        let answer = self.ask("cmd=get_universe_size", "universe_size").ok()?;
        number_in(&answer, "size")
    }

    /// Puts a value into the store. It is visible to others after the next barrier.
    pub fn put(&mut self, key: &str, value: &str) -> io::Result<()> {
        if value.len() >= self.value_bytes_max {
            let text =
                format!("the launcher takes {} bytes at most, not {}", self.value_bytes_max, value.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let words = format!("cmd=put kvsname={} key={key} value={value}", self.store);
        self.ask(&words, "put_result").map(drop)
    }

    /// A value of the store; `None` if nobody has put it.
    pub fn get(&mut self, key: &str) -> io::Result<Option<String>> {
        self.send_get(key)?;
        let answer = self.receive()?;
        Ok(value_of(&answer))
    }

    /// Waits for all ranks.
    pub fn barrier(&mut self) -> io::Result<()> {
        self.ask("cmd=barrier_in", "barrier_out").map(drop)
    }

    /// How the job is ended while somebody else has the connection.
    pub fn voice(&self) -> Voice {
        Voice(self.socket.clone())
    }

    fn send_get(&mut self, key: &str) -> io::Result<()> {
        say(&self.socket, &format!("cmd=get kvsname={} key={key}", self.store))
    }

    /// Sends a command and waits for its answer.
    fn ask(&mut self, words: &str, expected: &str) -> io::Result<String> {
        say(&self.socket, words)?;
        let answer = self.receive()?;
        let line = Line::new(&answer);
        if line.command() == expected && line.get("rc").is_none_or(|rc| rc == "0") {
            return Ok(answer);
        }
        Err(io::Error::other(format!("the launcher answered '{}' to '{words}'", line.text())))
    }

    fn receive(&mut self) -> io::Result<String> {
        loop {
            if let Some(line) = self.take_line()? {
                return Ok(line);
            }
            self.read(RecvFlags::empty())?;
        }
    }

    /// Reads what has come. The end of the connection is an error.
    fn read(&mut self, flags: RecvFlags) -> io::Result<()> {
        let mut bytes = [0; PMI_ANSWER_BYTES_MAX];
        match recv(&self.socket, &mut bytes, flags) {
            Ok((0, _)) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok((count, _)) => {
                self.buffer.extend_from_slice(&bytes[..count]);
                Ok(())
            }
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
pub(crate) struct Voice(Arc<OwnedFd>);

impl Voice {
    /// Asks the launcher to end the job.
    pub fn abort(&self, code: i32) -> io::Result<()> {
        say(&self.0, &format!("cmd=abort exitcode={code}"))
    }

    /// Takes leave: a rank that ends without it has failed, for the launcher. Waits for the answer, since the
    /// connection may not end before it.
    pub fn finalize(&self) {
        if say(&self.0, "cmd=finalize").is_ok() {
            let _ = recv(&self.0, &mut [0; PMI_ANSWER_BYTES_MAX], RecvFlags::empty());
        }
    }
}

/// The link of a rank whose launcher speaks PMI: a card is a value in the store.
#[derive(Debug)]
pub(crate) struct PmiLink {
    client: Client,
    rank: u32,
    /// Ranks whose cards are wanted; the first has been asked for if `asked`.
    wanted: VecDeque<u32>,
    asked: bool,
}

impl PmiLink {
    pub fn new(client: Client, rank: u32) -> PmiLink {
        PmiLink { client, rank, wanted: VecDeque::new(), asked: false }
    }

    /// All ranks publish at the same time: it is a barrier.
    pub fn publish(&mut self, card: &[u8]) -> io::Result<()> {
        self.client.put(&card_key(self.rank), &to_hex(card))?;
        self.client.barrier()
    }

    pub fn ask(&mut self, rank: u32) {
        self.wanted.push_back(rank);
        self.ask_on();
    }

    pub fn answer(&mut self) -> Option<(u32, Vec<u8>)> {
        while self.asked {
            if let Some(line) = self.client.take_line().ok()? {
                self.asked = false;
                let rank = self.wanted.pop_front()?;
                self.ask_on();
                match value_of(&line).and_then(|value| from_hex(&value)) {
                    Some(card) if card.len() <= CARD_BYTES_MAX => return Some((rank, card)),
                    // That rank has published nothing: it will not be reached.
                    _ => continue,
                }
            }
            self.client.read(RecvFlags::DONTWAIT).ok()?;
        }
        None
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.client.socket.as_fd()
    }

    /// The launcher answers one question after the other.
    fn ask_on(&mut self) {
        if let Some(&rank) = self.wanted.front().filter(|_| !self.asked) {
            self.asked = self.client.send_get(&card_key(rank)).is_ok();
        }
    }
}

fn card_key(rank: u32) -> String {
    format!("tern-card-{rank}")
}

fn number_in(answer: &str, name: &str) -> Option<u32> {
    Line::new(answer).get(name)?.parse().ok()
}

fn value_of(answer: &str) -> Option<String> {
    let line = Line::new(answer);
    (line.get("rc") == Some("0")).then(|| line.get("value").map(String::from))?
}

fn say(socket: &OwnedFd, words: &str) -> io::Result<()> {
    let bytes = format!("{words}\n").into_bytes();
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        match send(socket, rest, SendFlags::NOSIGNAL) {
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
    received.ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Two digits for each byte: the store takes printable values only.
pub(crate) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What [`to_hex`] has written.
pub(crate) fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|letter| letter.to_digit(16).map(|digit| digit as u8)).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    Some(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
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

    const GREETINGS: [&str; 3] = [
        "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0",
        "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024",
        "cmd=my_kvsname kvsname=kvs_1_0",
    ];

    #[test]
    fn cards_go_through_the_store() {
        let (number, thread) = launcher(&[
            GREETINGS[0],
            GREETINGS[1],
            GREETINGS[2],
            "cmd=put_result rc=0 msg=success",
            "cmd=barrier_out",
            "cmd=get_result rc=-1 msg=key_not_found value=unknown",
            "cmd=get_result rc=0 msg=success value=00ff",
        ]);
        let client = Client::connect(number).unwrap();
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
        assert_eq!(lines[3], "cmd=put kvsname=kvs_1_0 key=tern-card-3 value=01ab");
        assert_eq!(lines[6], "cmd=get kvsname=kvs_1_0 key=tern-card-9");
        assert_eq!(link.answer(), None);
    }

    #[test]
    fn a_launcher_that_refuses_or_goes_is_an_error() {
        let (number, _) = launcher(&["cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=-1"]);
        assert!(Client::connect(number).unwrap_err().to_string().contains("rc=-1"));
        let (number, _) = launcher(&GREETINGS[..2]);
        assert!(Client::connect(number).is_err());
        assert!(Client::connect(1_000_000).is_err());
    }

    #[test]
    fn hexadecimal_digits() {
        assert_eq!(to_hex(&[0, 0x1f, 0xff]), "001fff");
        assert_eq!(from_hex("001fff"), Some(vec![0, 0x1f, 0xff]));
        assert!(from_hex("0").is_none() && from_hex("0g").is_none());
    }
}
