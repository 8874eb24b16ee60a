//! What `mpirun` reads: messages of agents and of itself, PMI-1 of ranks, host files, rank files.

#[path = "../driver.rs"]
mod driver;

use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

pub use driver::Target;
use tern_job::topology::MachineTopology;

use crate::limits::PMI_STORE_BYTES_MAX;
use crate::plan::allocation::{Allocation, nodelist};
use crate::plan::host_table::HostTable;
use crate::plan::{App, JobPlan, PlanSettings, hosts, rankfile};
use crate::poller::Poller;
use crate::serve::pmi::{About, Pmi};
use crate::tree::channel::ChannelInbox;
use crate::tree::messages::{Down, GREETING, Orders, Up, decode, encode};
use crate::watch::exit_cause::End;

/// All targets of this room.
pub const TARGETS: &[Target] = &[
    Target { name: "agent-up", run: up, seeds: ups },
    Target { name: "agent-down", run: down, seeds: downs },
    Target {
        name: "agent-channel",
        run: channel,
        seeds: || vec![[b"motd\n", GREETING, &ups()[0]].concat(), ups()[0].clone()],
    },
    Target { name: "pmi-server", run: pmi, seeds: pmi_words },
    Target {
        name: "nodelist",
        run: nodelist,
        seeds: || vec![b"n[1-3,07-12],m".to_vec(), b"r[1-2]n[0-3]-ib,x".to_vec(), b"2(x3),1".to_vec()],
    },
    Target {
        name: "hostfile",
        run: hostfile,
        seeds: || vec![b"# two\na:4\nb slots=2 # large\n::1\n".to_vec(), b"c\n".to_vec()],
    },
    Target {
        name: "rankfile",
        run: rankfile,
        seeds: || {
            vec![b"rank 0=a slot=0:0-1,2;1:*\nrank 1=+n1 slot=p4 # b\n".to_vec(), b"rank 0=c\n".to_vec()]
        },
    },
];

/// Slurm's lists, and the hosts of LSF.
fn nodelist(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Some(names) = nodelist::nodes(text) {
        assert!(!names.is_empty() && names.len() <= tern_job::limits::HOSTS_MAX as usize);
        assert!(names.iter().all(|name| !name.is_empty() && !name.starts_with('-')));
    }
    if let Some(numbers) = nodelist::repeated(text, 7) {
        assert_eq!(numbers.len(), 7);
    }
    for variable in ["LSB_MCPU_HOSTS", "LSB_HOSTS", "SLURM_JOB_NODELIST"] {
        let found = Allocation::find(&|name: &str| (name == variable).then(|| text.into()));
        let hosts = found.ok().flatten().map_or_else(Vec::new, |found| found.hosts);
        assert!(hosts.iter().all(|host| hosts::slots(host) > 0 && !host.name.starts_with('-')), "{variable}");
    }
}

fn up(bytes: &[u8]) {
    let mut rest = bytes;
    while let Ok(Some((message, length))) = decode::<Up>(rest) {
        let mut again = Vec::new();
        encode(&message, &mut again);
        assert_eq!(decode::<Up>(&again).map(|found| found.map(|(message, _)| message)), Ok(Some(message)));
        rest = &rest[length..];
    }
}

fn encoded(messages: &[impl serde::Serialize]) -> Vec<u8> {
    let mut bytes = Vec::new();
    messages.iter().for_each(|message| encode(message, &mut bytes));
    bytes
}

fn ups() -> Vec<Vec<u8>> {
    let all = [
        Up::Started { host: 1, pids: vec![4, 5] },
        Up::Refused { host: 1, message: "no".into(), status: 3 },
        Up::Output { rank: 1, error: false, bytes: b"line\n".to_vec() },
        Up::Ended { rank: 1, end: End::Exited(3), state: tern_job::RankState::Running },
        Up::EndpointAddress { rank: 2, endpoint_address: vec![1, 2, 3] },
        Up::Barrier { ranks: 2, pairs: vec![("key".into(), "value".into())] },
        Up::Beat,
    ];
    vec![encoded(&all), encoded(&all[4..])]
}

/// Orders that make a plan make one that holds together.
fn down(bytes: &[u8]) {
    let mut rest = bytes;
    while let Ok(Some((message, length))) = decode::<Down>(rest) {
        if let Down::Start(orders) = &message
            && let Some(plan) = orders.plan()
        {
            assert!(plan.own_ranks().iter().all(|&rank| rank < plan.size()));
            assert_eq!(plan.app_of.len(), plan.size() as usize);
        }
        rest = &rest[length..];
    }
}

fn downs() -> Vec<Vec<u8>> {
    let hosts = vec!["a".into(), "b".into()];
    let apps = vec![App { count: Some(3), hosts, ..App::default() }];
    let plan = JobPlan::new(PlanSettings { apps, ..PlanSettings::default() }).expect("a plan");
    let mut orders = Orders::new(&plan, [1; 32], false, vec![("A".into(), "b".into())]);
    orders.directory = "here".into();
    orders.hosts = vec![(1, "b".into())];
    let start = encoded(&[Down::Start(Box::new(orders))]);
    vec![
        start,
        encoded(&[
            Down::Signal(15),
            Down::Input { rank: 1, bytes: vec![1] },
            Down::BarrierOut(vec![]),
            Down::Beat,
        ]),
    ]
}

/// What a launcher's command says: a greeting somewhere, then messages.
fn channel(bytes: &[u8]) {
    let Ok((mut theirs, ours)) = UnixStream::pair() else { return };
    theirs.set_nonblocking(true).expect("a socket");
    let _ = theirs.write_all(bytes);
    drop(theirs);
    let Ok(mut inbox) = ChannelInbox::new(OwnedFd::from(ours), bytes.len() % 2 == 0) else { return };
    loop {
        let more = inbox.read();
        while let Ok(Some(_)) = inbox.next::<Up>() {}
        let _ = (inbox.awaits_greeting(), inbox.babble());
        if more.is_err() {
            return;
        }
    }
}

/// Two ranks of which one says anything; the other must still be answered.
fn pmi(bytes: &[u8]) {
    let (Ok((mut bad, one)), Ok((mut good, two))) = (UnixStream::pair(), UnixStream::pair()) else { return };
    for socket in [&bad, &one, &good, &two] {
        socket.set_nonblocking(true).expect("a socket");
    }
    let sockets = [(0, 0, OwnedFd::from(one)), (1, 0, OwnedFd::from(two))];
    let about = About { name: "kvs".into(), universe: 2, mapping: "(vector,(0,1,2))".into() };
    let (mut pmi, poller) = (Pmi::new(sockets.into_iter(), about), Poller::new().expect("a poller"));
    pmi.expect(3);
    for piece in bytes.chunks(1000) {
        let _ = bad.write_all(piece);
        let _ = pmi.on_words(0, &poller);
    }
    good.write_all(b"cmd=get_universe_size\n").expect("it is served");
    let _ = pmi.on_words(1, &poller);
    let mut answer = [0; 100];
    let count = std::io::Read::read(&mut good, &mut answer).expect("it is answered");
    assert!(answer[..count].starts_with(b"cmd=universe_size size=2"));
    assert!(pmi.store_bytes() <= PMI_STORE_BYTES_MAX);
}

fn pmi_words() -> Vec<Vec<u8>> {
    vec![
        b"cmd=init pmi_version=1 pmi_subversion=1\ncmd=get_maxes\ncmd=put kvsname=kvs key=a value=1\ncmd=barrier_in\n".to_vec(),
        b"mcmd=spawn\nnprocs=1\nendcmd\ncmd=get kvsname=kvs key=PMI_process_mapping\ncmd=abort exitcode=7\n".to_vec(),
    ]
}

fn hostfile(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(hosts) = hosts::parse(text) else { return };
    for host in hosts::merge(hosts.into_iter()) {
        assert!(hosts::slots(&host) > 0 && !host.name.is_empty() && !host.name.starts_with('-'));
    }
}

fn rankfile(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(places) = rankfile::parse(text) else { return };
    assert!(!places.is_empty() && places.len() <= text.lines().count());
    let usable = MachineTopology::here();
    for place in &places {
        if let Ok(host) = place.host(0, None, &HostTable::default()) {
            assert!(!host.name.is_empty() && !host.name.starts_with('-'));
        }
        if let Ok(own) = rankfile::processors_of(&usable, &place.slots, false) {
            assert!(own.iter().all(|number| usable.processors().contains(number)));
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn any_bytes_are_survived() {
        super::driver::bounded(super::TARGETS);
    }
}
