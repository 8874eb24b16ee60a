//! What the kernel knows of a connection: some of `struct tcp_info`, of which older kernels have less.

use std::io;
use std::mem::offset_of;
use std::os::fd::AsRawFd;

use socket2::Socket;

use tern_transport::sockopt::words_of_option;

const UNACKED: usize = word(offset_of!(libc::tcp_info, tcpi_unacked));
const LAST_DATA_SENT: usize = word(offset_of!(libc::tcp_info, tcpi_last_data_sent));
const LAST_ACK_HEARD: usize = word(offset_of!(libc::tcp_info, tcpi_last_ack_recv));
/// `tcpi_min_rtt` (Linux 4.6), which `libc` does not name.
const ROUND_TRIP: usize = 37;

const fn word(offset: usize) -> usize {
    offset / size_of::<u32>()
}

/// What is known now.
pub(crate) struct TcpInfo {
    /// Segments that are on their way.
    pub unacked: u32,
    /// Since when nothing was sent, and no acknowledgement has come, milliseconds.
    pub sent_ms: u32,
    pub heard_ms: u32,
    /// The shortest round trip, microseconds.
    pub round_trip_us: Option<u32>,
}

impl TcpInfo {
    pub(crate) fn of(socket: &Socket) -> io::Result<TcpInfo> {
        let mut words = [0; ROUND_TRIP + 1];
        let read = words_of_option(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, &mut words)?;
        Ok(TcpInfo {
            unacked: words[UNACKED],
            sent_ms: words[LAST_DATA_SENT],
            heard_ms: words[LAST_ACK_HEARD],
            round_trip_us: words[..read].get(ROUND_TRIP).copied(),
        })
    }
}
