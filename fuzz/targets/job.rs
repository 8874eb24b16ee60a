//! What a rank and its launcher tell each other: the job descriptor, the status page and the node map, notices and answers, PMI-1.

#[path = "../driver.rs"]
mod driver;

use std::ffi::OsStr;
use std::io::Write;
use std::os::fd::IntoRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;

use rustix::fd::OwnedFd;
use rustix::io::pwrite;

pub use driver::Target;

use crate::bootstrap::exchange::HostEntry;
use crate::bootstrap::pmi1::client::Pmi1Client;
use crate::control::{AbortNotice, Notice};
use crate::descriptor::JobDescriptor;
use crate::hex::{from_hex, to_hex};
use crate::limits::{ENDPOINT_ADDRESS_BYTES_MAX, NOTICE_BYTES};
use crate::link::{encode_answer, take_answer};
use crate::node_map::{self, NodeMap, read_places};
use crate::pmi::{PmiLine, mapping, parse_mapping};
use crate::ranges;
use crate::status_page::{Blocked, RankRecord, RankState, read_record, status_page_bytes};
use crate::topology::{self, Level};
use crate::watch::lifelines::parse_addresses;

/// All targets of this room.
pub const TARGETS: &[Target] = &[
    Target { name: "descriptor", run: descriptor, seeds: descriptors },
    Target { name: "status-page", run: status_page, seeds: records },
    Target { name: "node-map", run: node_maps, seeds: || vec![node_map_bytes()] },
    Target { name: "control-notice", run: notice, seeds: notices },
    Target {
        name: "link-answers",
        run: answers,
        seeds: || vec![[encode_answer(3, b"endpoint_address"), encode_answer(4, b"")].concat()],
    },
    Target {
        name: "pmi-mapping",
        run: mappings,
        seeds: || texts(&["(vector,(0,3,2))", "(vector,(0,1,2),(1,1,1),(2,1,2))"]),
    },
    Target {
        name: "host-entry",
        run: host_entry,
        seeds: || texts(&["4242:7:51:8:52;0-3,8;40001,10.0.0.1,fd00::7", "1:2:3:4:5;0;"]),
    },
    Target { name: "pmi-client", run: pmi_client, seeds: || texts(&[LAUNCHER]) },
    Target { name: "hwloc", run: hwloc, seeds: || texts(&[topology::hwloc::EXAMPLE]) },
];

fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

fn memory(bytes: &[u8], at: u64) -> OwnedFd {
    let file = rustix::fs::memfd_create("fuzz", rustix::fs::MemfdFlags::CLOEXEC).expect("a memory file");
    pwrite(&file, bytes, at).expect("room");
    file
}

fn descriptor(bytes: &[u8]) {
    if let Ok(descriptor) = JobDescriptor::parse(OsStr::from_bytes(bytes)) {
        assert!(
            descriptor.rank < descriptor.size
                && descriptor.local <= descriptor.size
                && descriptor.hosts <= descriptor.size
        );
        assert_eq!(JobDescriptor::parse(OsStr::new(&descriptor.to_string())), Ok(descriptor));
    }
}

fn descriptors() -> Vec<Vec<u8>> {
    texts(&[
        "3 rank=3 size=8 app=0 universe=8 cores=2 bound=0 local=8 hosts=1 launcher=4242 segment=100/51 status=101/52 \
             control=102/53 answers=103/54",
    ])
}

/// A record as another process of the same user may leave it, with a right checksum or with any.
fn status_page(bytes: &[u8]) {
    let sealed = RankRecord::resealed(bytes);
    for file in [memory(bytes, 0), memory(&sealed, 0)] {
        let record = read_record(&file, 0).expect("it can be read");
        if let Some(place) = record.blocked().or(record.polling()) {
            let texts = [place.call, place.collective, place.comm, place.detail, place.notes];
            assert!(texts.iter().map(|text| text.len()).sum::<usize>() < sealed.len());
        }
        let _ = (record.state(), record.pid());
    }
}

fn records() -> Vec<Vec<u8>> {
    let blocked = Blocked {
        peer: 1,
        tag: 2,
        comm: "MPI_COMM_WORLD",
        comm_size: 4,
        bytes: Some(8),
        since_ns: 9,
        detail: "detail",
        notes: "one\ntwo",
        ..Blocked::on("MPI_Recv")
    };
    let polling = Blocked { asked_ns: Some(3), collective: "MPI_Ibcast", root: 1, ..blocked };
    let records = [
        RankRecord::new(RankState::Blocked, 7, Some(&blocked)),
        RankRecord::new(RankState::Polling, 7, Some(&polling)),
        RankRecord::new(RankState::Running, 7, None),
    ];
    records.map(|record| record.bytes().to_vec()).into()
}

const ROSTER_RANKS: u32 = 6;

fn node_maps(bytes: &[u8]) {
    let file = memory(bytes, status_page_bytes(ROSTER_RANKS));
    let _ = node_map::read_secret(&file, ROSTER_RANKS);
    if let Ok(places) = read_places(&file, ROSTER_RANKS) {
        assert!((0..ROSTER_RANKS).all(|rank| places.host_of(rank) < places.hosts()));
        let all: usize = (0..places.hosts().min(100)).map(|host| places.ranks_of(host).count()).sum();
        assert!(all <= ROSTER_RANKS as usize);
    }
}

fn node_map_bytes() -> Vec<u8> {
    let file = memory(&[], 0);
    node_map::write(&file, &[9; 32], &NodeMap::of([0, 0, 1, 1, 2, 0].into_iter())).expect("room");
    let mut bytes = vec![0; 200];
    let count =
        rustix::io::pread(&file, &mut bytes[..], status_page_bytes(ROSTER_RANKS)).expect("it was written");
    bytes.truncate(count);
    bytes
}

/// What another version of hwloc, or a file that its settings name, may tell of a machine.
fn hwloc(bytes: &[u8]) {
    if let Some((_, machine)) = topology::hwloc::read(&String::from_utf8_lossy(bytes)) {
        let processors = machine.processors();
        for level in Level::ALL {
            let members: usize = machine.parts(level).iter().map(Vec::len).sum();
            assert_eq!(members, processors.len());
        }
    }
}

fn notice(bytes: &[u8]) {
    let mut whole = [0; NOTICE_BYTES];
    let len = bytes.len().min(NOTICE_BYTES);
    whole[..len].copy_from_slice(&bytes[..len]);
    match Notice::decode(&whole) {
        Some(Notice::Publish { endpoint_address, .. }) => {
            assert!(endpoint_address.len() <= ENDPOINT_ADDRESS_BYTES_MAX)
        }
        Some(Notice::Tell { text, .. } | Notice::Numbers { text, .. }) => {
            assert!(text.len() <= 3 * NOTICE_BYTES)
        }
        Some(Notice::Ask { wanted, .. }) => assert!(wanted.len() <= NOTICE_BYTES / 4),
        Some(Notice::Abort(abort)) => assert!(abort.message.len() <= 3 * NOTICE_BYTES),
        Some(Notice::Finalized { .. }) | None => {}
    }
}

fn notices() -> Vec<Vec<u8>> {
    let abort = AbortNotice { rank: 1, code: 3, message: "why".into() };
    let all = [
        Notice::Abort(abort),
        Notice::Publish { rank: 1, endpoint_address: b"endpoint_address".as_slice().into() },
        Notice::Ask { rank: 1, wanted: vec![2, 3] },
        Notice::Tell { rank: 1, text: "text".into() },
        Notice::Numbers { rank: 1, text: "a 1".into() },
        Notice::Finalized { rank: 1 },
    ];
    all.iter().map(|notice| notice.encode()[..40].to_vec()).collect()
}

fn answers(bytes: &[u8]) {
    let (mut buffer, mut taken) = (bytes.to_vec(), 0);
    while let Some((rank, endpoint_address)) = take_answer(&mut buffer) {
        taken += encode_answer(rank, &endpoint_address).len();
    }
    assert_eq!(taken + buffer.len(), bytes.len());
}

fn mappings(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let _ = (PmiLine::new(text).command(), from_hex(text).map(|bytes| to_hex(&bytes)));
    for size in [1, 5, 64] {
        if let Some(places) = parse_mapping(text, size) {
            assert_eq!(places.size(), size);
            assert!((0..size).all(|rank| places.host_of(rank) < places.hosts()));
            let _ = mapping(&places);
        }
    }
}

/// What the first rank of a host leaves in a launcher's store.
fn host_entry(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Some(entry) = HostEntry::parse(text, 64) {
        assert_eq!(HostEntry::parse(&entry.to_string(), 64), Some(entry));
    }
    let _ = parse_addresses(text);
    if let Some(ranks) = ranges::parse(text, 64) {
        assert!(ranks.windows(2).all(|pair| pair[0] < pair[1]) && ranks.iter().all(|&rank| rank < 64));
    }
}

/// What a launcher answers to a rank that starts, in order.
const LAUNCHER: &str = "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\ncmd=my_kvsname kvsname=kvs_1\n\
cmd=appnum appnum=0\ncmd=universe_size size=4\ncmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\ncmd=put_result rc=0\n\
cmd=barrier_out rc=0\ncmd=get_result rc=0 value=(vector,(0,2,2))\n";

/// A launcher that says these bytes and nothing more, whatever it is asked.
fn pmi_client(bytes: &[u8]) {
    let Ok((ours, mut theirs)) = UnixStream::pair() else { return };
    theirs.set_nonblocking(true).expect("a socket");
    let _ = theirs.write_all(bytes);
    theirs.shutdown(std::net::Shutdown::Write).expect("a socket");
    let Ok(mut client) = Pmi1Client::connect(ours.into_raw_fd()) else { return };
    let _ = (client.appnum(), client.universe());
    if client.put("key", &"value".repeat(100)).and_then(|()| client.barrier()).is_err() {
        return;
    }
    if let Ok(Some(text)) = client.get("PMI_process_mapping") {
        let _ = parse_mapping(&text, 4);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn any_bytes_are_survived() {
        super::driver::bounded(super::TARGETS);
    }
}
