//! Ranks 0 and 1 share a machine, rank 2 has one of its own; all within this process.

use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use super::*;
use crate::{Fabric, Outside};
use tern_shm::shm_comm::Sight;
use tern_transport::conformance::{Keeper, TestDirectory, buf_of, header, memfd, pattern, send};

/// Takes one message a poll, as the engine does while no receive is posted.
fn one_by_one() -> Keeper {
    let mut keeper = Keeper::default();
    keeper.one_by_one = true;
    keeper
}

const SECRET: [u8; 32] = [3; 32];

fn rank(me: Peer, segment: Option<OwnedFd>, local_ranks: Vec<Peer>, directory: &TestDirectory) -> Fabric {
    let outside = Some(Outside { secret: SECRET, directory: directory.of(me) });
    let place =
        JobPlace { me, size: 3, local_ranks: Some(local_ranks), segment, oversubscribed: true, outside };
    Fabric::attach(place, &TransportConfig::default()).unwrap()
}

fn job() -> [Fabric; 3] {
    let (directory, segment) = (TestDirectory::default(), memfd());
    let other = segment.try_clone().unwrap();
    [
        rank(0, Some(segment), vec![0, 1], &directory),
        rank(1, Some(other), vec![0, 1], &directory),
        rank(2, None, vec![2], &directory),
    ]
}

/// Lets ranks 0 and 2 work until rank 0 has taken so many messages.
fn receive(ranks: &mut [Fabric; 3], sink: &mut Keeper, taken: usize) {
    let until = Instant::now() + Duration::from_secs(30);
    while sink.received.len() < taken {
        assert!(Instant::now() < until, "message {taken} never comes");
        ranks[2].poll(&mut one_by_one());
        ranks[0].poll(sink);
    }
}

/// Of a message that was read from its socket along with another one, no socket tells; whoever armed the bell finds it.
#[test]
fn the_last_look_before_sleeping_is_at_the_network_too() {
    let (mut ranks, mut sink) = (job(), one_by_one());
    let mut payload = pattern(1, 8);
    send(&mut ranks[2], 0, 1, &mut payload).unwrap();
    receive(&mut ranks, &mut sink, 1);
    for polls in 0..2 * POLLS_PER_TCP_POLL {
        let before = sink.received.len();
        // Two that are there before rank 0 looks at its socket again.
        for _ in 0..2 {
            send(&mut ranks[2], 0, 1, &mut payload).unwrap();
        }
        receive(&mut ranks, &mut sink, before + 1);
        for _ in 0..polls % POLLS_PER_TCP_POLL {
            if sink.received.len() == before + 1 {
                ranks[0].poll(&mut sink);
            }
        }
        if sink.received.len() == before + 1 {
            let bell = ranks[0].doorbell();
            bell.arm();
            assert!(ranks[0].poll(&mut sink), "would sleep on a message, {polls} polls after the last");
            bell.disarm();
        }
        assert_eq!(sink.received.len(), before + 2);
    }
}

/// A message from afar has come and been taken, and another one waits.
fn one_from_afar() -> ([Fabric; 3], Keeper, Vec<u8>) {
    let (mut ranks, mut sink) = (job(), one_by_one());
    let mut payload = pattern(1, 8);
    send(&mut ranks[2], 0, 1, &mut payload).unwrap();
    receive(&mut ranks, &mut sink, 1);
    send(&mut ranks[2], 0, 1, &mut payload).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    (ranks, sink, payload)
}

/// However busy shared memory is, what comes over the network is found.
#[test]
fn messages_of_neighbors_do_not_hide_those_from_afar() {
    let (mut ranks, mut sink, mut payload) = one_from_afar();
    let mut near = 0;
    while sink.received.len() == 1 + near {
        assert!(near <= 2 * POLLS_PER_TCP_POLL_NEAR as usize, "the network is not looked at");
        send(&mut ranks[1], 0, 1, &mut payload).unwrap();
        near += 1;
        ranks[0].poll(&mut sink);
    }
}

/// The same while a neighbor's messages are taken without a poll, as blocking receives do.
#[test]
fn messages_that_need_no_poll_do_not_hide_those_from_afar() {
    let (mut ranks, mut sink, mut payload) = one_from_afar();
    let (mut near, mut polls) = (0, 0);
    while sink.received.len() == 1 + polls {
        assert!(near <= 2 * POLLS_PER_TCP_POLL_NEAR as usize, "the network is not looked at");
        send(&mut ranks[1], 0, 1, &mut payload).unwrap();
        near += 1;
        match ranks[0].take_short_by_route(1, |of, _| Some(of.tag)) {
            Some(tag) => assert_eq!(tag, header(1).tag),
            None => {
                polls += 1;
                ranks[0].poll(&mut sink);
            }
        }
    }
    assert!(near > polls, "nothing comes without a poll");
}

/// Ranks 1 and 2 share a machine that is not the first: their numbers there are not those in the job.
#[test]
fn the_ranks_of_one_machine_have_a_shm_communicator() {
    let (directory, segment) = (TestDirectory::default(), memfd());
    let other = segment.try_clone().unwrap();
    let ranks = [
        rank(0, None, vec![0], &directory),
        rank(1, Some(segment), vec![1, 2], &directory),
        rank(2, Some(other), vec![1, 2], &directory),
    ];
    let member = |rank| ShmMember { leader: 2, slot: 1, rank, size: 2 };
    let (mut one, mut two) = (ranks[1].shm_comm(member(0)).unwrap(), ranks[2].shm_comm(member(1)).unwrap());
    assert_eq!(one.member().leader, 2);
    let (mine, theirs) = (one.begin_sync(), two.begin_sync());
    assert_eq!(two.look(&two.posted(theirs, 0)), Sight::Pending);
    one.post(mine, &[7; ShmComm::FLAG_PAYLOAD_BYTES]);
    assert_eq!(two.look(&two.posted(theirs, 0)), Sight::Come);
    assert_eq!(two.posted_payload(theirs, 0), [7; ShmComm::FLAG_PAYLOAD_BYTES]);
    one.leave();
    assert!(!ranks[2].clear_shm_slot(1, 2), "one is still there");
    two.leave();
    assert!(ranks[2].clear_shm_slot(1, 2));
    assert!(ranks[0].shm_comm(member(0)).is_none() && !ranks[0].clear_shm_slot(1, 1), "it is alone");
    assert!(ranks[1].shm_comm(ShmMember { leader: 0, ..member(0) }).is_none(), "on another machine");
}

/// No datagram between them is believed: as if a firewall dropped them all.
#[test]
fn multicasts_come_over_tcp_where_no_datagram_comes_through() {
    let directory = TestDirectory::default();
    let mut ranks = [rank(0, None, vec![0], &directory), rank(1, None, vec![1], &directory)];
    ranks[1].network.as_mut().unwrap().secret = [9; 32];
    let groups = ranks.each_mut().map(|rank| {
        rank.open_packets(Medium::Udp, Ipv4Addr::LOCALHOST.into()).unwrap();
        rank.use_packets();
        rank.multicast_group(&[0, 1]).unwrap()
    });
    let mut keepers = [Keeper::default(), Keeper::default()];
    let mut bytes = pattern(3, 5000);
    let body = buf_of(&mut bytes);
    let am = Am { header: header(3), extended: &[], body: &body, offset: 0, len: 5000 };
    ranks[0].multicast(&groups[0], &[1], &am, Token(1)).unwrap();
    let until = Instant::now() + Duration::from_secs(30);
    while keepers[1].received.is_empty() || !ranks[0].is_quiet() {
        assert!(Instant::now() < until, "it never comes");
        for (rank, keeper) in ranks.iter_mut().zip(&mut keepers) {
            rank.poll(keeper);
            assert_eq!(rank.failure(), None);
        }
    }
    assert!(keepers[1].received[0].payload == pattern(3, 5000) && keepers[0].received.is_empty());
}
