//! What the kernel drops before it wakes this rank: the paper's kernel extension (section 3.2.1) as a BPF program.
//!
//! Dropped are packets of other jobs, own copies that multicast brings back, and multicasts that do not address this rank.
//! Nothing here is about safety: what passes is judged again, by its tag as well.
//!
//! A socket begins with a filter that looks at the first segment alone. It gets the whole one when multicasts begin that may be for others.
//!
//! Segments that were sent or have come together are one datagram for the filter; one segment for this rank lets all of
//! them pass. All are of one sender, so the job and the sender are looked at once.

use socket2::SockFilter;

use super::head::{AT_ADDRESSED, AT_BYTES, AT_FROM, AT_JOB, AT_MAGIC, AT_TO, Addressed, MAGIC, MULTICAST};
use crate::limits::{HEAD_BYTES, SEGMENTS_MAX};
use tern_transport::Peer;

/// What a rank wants of what its socket may get.
#[derive(Clone, Copy)]
pub(crate) struct WantedPackets {
    pub job: u32,
    pub me: Peer,
    /// Bytes before the packet where the filter begins: UDP's header.
    pub skipped_bytes: u32,
}

// Classes, sizes and modes of classic BPF (Linux, include/uapi/linux/filter.h), as far as they are used here.
const LOAD_WORD: u16 = 0x40;
const LOAD_HALF: u16 = 0x48;
const LOAD_INDEX: u16 = 0x01;
const ADD_INDEX: u16 = 0x0c;
const TO_INDEX: u16 = 0x07;
const IF_EQUAL: u16 = 0x15;
const IF_AT_LEAST: u16 = 0x35;
const IF_BITS: u16 = 0x45;
const RETURN: u16 = 0x06;

const ACCEPT: u32 = u32::MAX;
const DROP: u32 = 0;

impl WantedPackets {
    /// The program. A load beyond the end of the datagram drops it, so it needs no look at the length.
    pub(crate) fn program(self) -> Vec<SockFilter> {
        self.program_for(SEGMENTS_MAX)
    }

    /// A short one, which looks at the first segment alone: to compile the other takes the kernel a millisecond.
    pub(crate) fn first_program(self) -> Vec<SockFilter> {
        self.program_for(1)
    }

    /// One that looks at so many segments.
    fn program_for(self, segments: usize) -> Vec<SockFilter> {
        let mut program = vec![step(LOAD_INDEX, self.skipped_bytes)];
        self.look_at_sender(&mut program);
        for _ in 0..segments {
            self.look_at_segment(&mut program);
        }
        // Beyond, what is there passes, and what is not is dropped.
        program.extend([step(LOAD_WORD, AT_TO), step(RETURN, ACCEPT)]);
        program
    }

    fn look_at_sender(self, program: &mut Vec<SockFilter>) {
        program.extend([
            step(LOAD_HALF, AT_MAGIC),
            branch(IF_EQUAL, u32::from(MAGIC), 1, 0),
            step(RETURN, DROP),
            step(LOAD_WORD, AT_JOB),
            branch(IF_EQUAL, self.job, 1, 0),
            step(RETURN, DROP),
            step(LOAD_WORD, AT_FROM),
            branch(IF_EQUAL, self.me, 0, 1),
            step(RETURN, DROP),
        ]);
    }

    /// Accepts the segment at the index or goes on to the next. Behind the last one of the datagram, its load fails.
    fn look_at_segment(self, program: &mut Vec<SockFilter>) {
        let (at, bits) = self.bit();
        program.extend([
            step(LOAD_WORD, AT_TO),
            branch(IF_EQUAL, self.me, 3, 0),
            branch(IF_BITS, MULTICAST, 0, 3),
            step(LOAD_WORD, at),
            branch(IF_BITS, bits, 0, 1),
            step(RETURN, ACCEPT),
            step(LOAD_HALF, AT_BYTES),
            branch(IF_AT_LEAST, HEAD_BYTES as u32, 1, 0),
            step(RETURN, DROP),
            step(ADD_INDEX, 0),
            step(TO_INDEX, 0),
        ]);
    }

    /// Where this rank's bit is: the word, and the bit in it.
    fn bit(self) -> (u32, u32) {
        let bits = Addressed::of([self.me]).0;
        match u32::try_from(bits) {
            Ok(low) => (AT_ADDRESSED + 4, low),
            Err(_) => (AT_ADDRESSED, (bits >> 32) as u32),
        }
    }
}

fn step(code: u16, k: u32) -> SockFilter {
    branch(code, k, 0, 0)
}

fn branch(code: u16, k: u32, then: u8, otherwise: u8) -> SockFilter {
    SockFilter::new(code, then, otherwise, k)
}

#[cfg(test)]
mod tests {
    use super::super::head::{PacketDestination, PacketGroup, PacketHead};
    use super::*;
    use crate::limits::SEALED_HEAD_BYTES;
    use std::net::UdpSocket;

    const ME: Peer = 37;
    const JOB: u32 = 0xDEAD_BEEF;

    /// A socket that has the filter, and one that sends to it.
    fn filtered() -> (UdpSocket, UdpSocket) {
        let receiver = socket2::Socket::from(UdpSocket::bind("127.0.0.1:0").unwrap());
        receiver.attach_filter(&WantedPackets { job: JOB, me: ME, skipped_bytes: 8 }.program()).unwrap();
        receiver.set_nonblocking(true).unwrap();
        let receiver = UdpSocket::from(receiver);
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.connect(receiver.local_addr().unwrap()).unwrap();
        (sender, receiver)
    }

    /// Loop-back delivers before `send` returns.
    fn passes(datagram: &[u8]) -> bool {
        let (sender, receiver) = filtered();
        sender.send(datagram).unwrap();
        receiver.recv(&mut [0; 65_536]).is_ok()
    }

    fn packet(job: u32, from: Peer, to: PacketDestination) -> Vec<u8> {
        let mut packet = vec![0; HEAD_BYTES + 10];
        let head = PacketHead { bytes: packet.len() as u16, job, from, to, count: 1 };
        let sealed: &mut [u8; SEALED_HEAD_BYTES] = packet.first_chunk_mut().unwrap();
        head.write(sealed);
        packet
    }

    fn group(ranks: &[Peer]) -> PacketDestination {
        PacketDestination::Group { group: PacketGroup(3), addressed: Addressed::of(ranks.iter().copied()) }
    }

    #[test]
    fn what_is_for_this_rank_passes() {
        assert!(passes(&packet(JOB, 1, PacketDestination::Rank(ME))));
        assert!(passes(&packet(JOB, 1, group(&[2, ME]))));
        assert!(passes(&packet(
            JOB,
            1,
            PacketDestination::Group { group: PacketGroup(0), addressed: Addressed::ALL }
        )));
    }

    #[test]
    fn the_kernel_drops_the_rest() {
        assert!(!passes(&packet(JOB + 1, 1, PacketDestination::Rank(ME))), "another job");
        assert!(!passes(&packet(JOB, ME, group(&[2, ME]))), "an own copy");
        assert!(!passes(&packet(JOB, 1, group(&[2, 5]))), "for others");
        assert!(!passes(&packet(JOB, 1, group(&[]))), "for nobody");
        assert!(!passes(&packet(JOB, 1, PacketDestination::Rank(ME + 1))), "for one other");
        assert!(!passes(&packet(JOB, 1, PacketDestination::Rank(ME))[..HEAD_BYTES - 40]), "cut short");
        assert!(!passes(b""), "nothing");
        let mut other = packet(JOB, 1, PacketDestination::Rank(ME));
        other[1] ^= 1;
        assert!(!passes(&other), "another version");
    }

    #[test]
    fn a_run_of_segments_passes_if_one_is_for_this_rank() {
        let run =
            |tos: &[PacketDestination]| tos.iter().flat_map(|to| packet(JOB, 1, *to)).collect::<Vec<u8>>();
        let other = group(&[2, 5]);
        assert!(!passes(&run(&[other; 3])));
        assert!(passes(&run(&[other, other, group(&[ME])])));
        let mut many = vec![other; SEGMENTS_MAX];
        assert!(!passes(&run(&many)));
        many[SEGMENTS_MAX - 1] = PacketDestination::Rank(ME);
        assert!(passes(&run(&many)), "the last one");
    }

    #[test]
    fn the_short_one_lets_pass_what_has_more_segments() {
        let (sender, receiver) = filtered();
        let short = WantedPackets { job: JOB, me: ME, skipped_bytes: 8 }.first_program();
        socket2::SockRef::from(&receiver).attach_filter(&short).unwrap();
        let (one, other) = (packet(JOB, 1, PacketDestination::Rank(ME)), packet(JOB, 1, group(&[2, 5])));
        let passes = |datagram: &[u8]| {
            sender.send(datagram).unwrap();
            receiver.recv(&mut [0; 65_536]).is_ok()
        };
        assert!(passes(&one) && passes(&[&*other, &other].concat()));
        assert!(!passes(&other) && !passes(&packet(JOB + 1, 1, PacketDestination::Rank(ME))));
    }

    #[test]
    fn a_segment_of_no_bytes_does_not_hold_the_filter_up() {
        let mut packet = packet(JOB, 1, group(&[2]));
        packet[2..4].fill(0);
        assert!(!passes(&packet));
    }
}
