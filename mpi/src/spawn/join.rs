//! `MPI_Comm_join` (MPI 5.0 section 11.10.5): two processes that have a socket between them meet.

use std::ffi::c_int;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{FromRawFd, RawFd};

use tern_abi::*;

use super::connect::{ConnectingProcess, accept, connect};
use super::ports;
use super::worlds::chance;
use crate::core::boundary::Handed;
use crate::core::entry::entry;
use crate::core::error::{Result, fail};
use crate::env::hints::Info;
use crate::limits::CONNECT_S;

const CALL: &str = "MPI_Comm_join";

/// What each says over the socket before anything else.
const GREETING: [u8; 8] = *b"TernJoin";

entry! {
    /// An intercommunicator of the two processes at the ends of a socket.
    safe fn MPI_Comm_join(fd: c_int, intercomm: Handed<'_, MPI_Comm>) {
        intercomm.set(join(fd)?);
        Ok(())
    }
}

fn join(fd: RawFd) -> Result<MPI_Comm> {
    let name = ports::open(&Info::default())?;
    let made = over(fd, &name);
    ports::close(&name)?;
    made
}

/// Both tell each other a port and a number; the one with the lower number accepts.
fn over(fd: RawFd, name: &str) -> Result<MPI_Comm> {
    let number = chance();
    let (theirs, far) = swap(fd, number, name).map_err(|error| {
        fail(MPI_ERR_ARG, format!("fd is {fd}, over which the other process cannot be reached: {error}"))
    })?;
    let connecting = ConnectingProcess::of(CALL, MPI_COMM_SELF, 0)?;
    if number < theirs {
        let door = ports::door_of(name)?;
        return connecting.introduce(true, |mine| Ok((accept(CALL, door, mine, |_| None)?, None)));
    }
    let patience = std::time::Duration::from_secs(CONNECT_S);
    connecting.introduce(false, |mine| Ok((connect(CALL, &far, patience, mine)?, None)))
}

/// The socket stays the program's, and has nothing of the library's in it afterwards.
fn swap(fd: RawFd, number: u64, name: &str) -> io::Result<(u64, String)> {
    // SAFETY: takes no addresses. Whatever the descriptor is, its copy is this function's own.
    let copy = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3) };
    if copy < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just made, and owned by nobody else. What is no stream fails in reading and writing.
    let mut socket = unsafe { TcpStream::from_raw_fd(copy) };
    let mut mine = GREETING.to_vec();
    mine.extend(number.to_le_bytes());
    mine.extend((name.len() as u32).to_le_bytes());
    mine.extend_from_slice(name.as_bytes());
    socket.write_all(&mine)?;
    let mut head = [0; 20];
    socket.read_exact(&mut head)?;
    let word = |at: usize| head[at..].first_chunk::<4>().map_or(0, |word| u32::from_le_bytes(*word));
    let len = word(16) as usize;
    if head[..8] != GREETING || len > MPI_MAX_PORT_NAME as usize {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "the other process does not call MPI_Comm_join",
        ));
    }
    let mut text = vec![0; len];
    socket.read_exact(&mut text)?;
    let theirs = u64::from(word(8)) | u64::from(word(12)) << 32;
    String::from_utf8(text).map(|text| (theirs, text)).map_err(|_| io::ErrorKind::InvalidData.into())
}
