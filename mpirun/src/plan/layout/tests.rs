//! Ranks on machines that are not here.

use super::*;

#[path = "../../../../job/src/topology/synthetic.rs"]
mod synthetic;

use synthetic::Machine;

/// Reads a machine; those of its processors that may be used.
fn read(machine: Machine, name: &str) -> MachineTopology {
    let numbers: Vec<u32> = (0..machine.processors()).collect();
    MachineTopology::read(machine.write(name).path(), &numbers)
}

/// Two sockets of two memory nodes, eight cores in each, two threads in each core: processors 0 to 31 are the first threads.
fn big(name: &str) -> MachineTopology {
    read(Machine { sockets: 2, nodes: 2, cores: 8, threads: 2, ..Machine::default() }, name)
}

fn bind(to: &str, map_by: &str) -> Bind {
    let mut bind = Bind::default();
    if !to.is_empty() {
        bind.take(to).unwrap();
    }
    if !map_by.is_empty() {
        bind.set_order(BindOrder::parse(map_by).unwrap().1);
    }
    bind
}

fn laid(host: &MachineTopology, bind: &Bind, ranks: u32) -> ProcessorLayout {
    let numbers: Vec<u32> = (0..ranks).collect();
    lay_out(host, bind, &numbers, |device| device.strip_prefix("node")?.parse().ok()).unwrap()
}

/// The processors of each rank as texts.
fn sets(host: &MachineTopology, bind: &Bind, ranks: u32) -> Vec<String> {
    let layout = laid(host, bind, ranks);
    assert_eq!(layout.remarks, Vec::<String>::new());
    layout.sets.into_iter().map(|set| ranges::to_text(&ascending(set))).collect()
}

#[test]
fn ranks_take_parts_in_turn() {
    let host = big("turn");
    assert_eq!(sets(&host, &bind("core", ""), 3), ["0,32", "1,33", "2,34"]);
    assert_eq!(sets(&host, &bind("hwthread", ""), 3), ["0", "32", "1"]);
    assert_eq!(sets(&host, &bind("numa", ""), 5)[3..], ["24-31,56-63", "0-7,32-39"]);
    assert_eq!(sets(&host, &bind("socket", ""), 2), ["0-15,32-47", "16-31,48-63"]);
    assert_eq!(sets(&host, &bind("board", ""), 1), ["0-63"]);
    assert_eq!(sets(&host, &bind("none", "socket"), 2), Vec::<String>::new());
}

#[test]
fn ranks_go_round_what_they_are_mapped_by() {
    let host = big("round");
    assert_eq!(sets(&host, &bind("core", "socket"), 4), ["0,32", "16,48", "1,33", "17,49"]);
    assert_eq!(sets(&host, &bind("core", "numa"), 5), ["0,32", "8,40", "16,48", "24,56", "1,33"]);
    assert_eq!(sets(&host, &bind("", "socket"), 3), ["0-15,32-47", "16-31,48-63", "0-15,32-47"]);
    // A part that is narrower than what ranks are bound to says where they are, not to what they are bound.
    assert_eq!(sets(&host, &bind("socket", "core"), 17)[15..], ["0-15,32-47", "16-31,48-63"]);
}

#[test]
fn so_many_ranks_are_in_each_part() {
    let host = big("blocks");
    assert_eq!(sets(&host, &bind("", "ppr:1:numa"), 4).len(), 4);
    assert_eq!(sets(&host, &bind("core", "ppr:2:socket"), 4), ["0,32", "1,33", "16,48", "17,49"]);
    assert_eq!(
        sets(&host, &bind("socket", "ppr:2:numa"), 8)[2..6].concat(),
        "0-15,32-470-15,32-4716-31,48-6316-31,48-63"
    );
}

#[test]
fn wide_ranks_stay_together() {
    let host = read(Machine { sockets: 2, cores: 6, ..Machine::default() }, "wide");
    let wide = |width| Bind { width, ..bind("core", "") };
    assert_eq!(sets(&host, &wide(4), 3), ["0-3", "4-5,10-11", "6-9"]);
    assert_eq!(sets(&host, &wide(3), 4), ["0-2", "3-5", "6-8", "9-11"]);
    assert_eq!(sets(&host, &wide(5), 2), ["0-4", "6-10"]);
    assert_eq!(sets(&host, &wide(12), 1), ["0-11"]);
    let said = &laid(&host, &wide(13), 1).remarks[0];
    assert!(said.contains("to have 13 cores, but this host has 12"), "{said}");
    let said = &laid(&host, &Bind { is_said: true, ..wide(4) }, 4).remarks[0];
    assert!(said.contains("give each less") && !said.contains("--bind-to"), "{said}");
    let caches = read(Machine { caches: 2, cores: 3, ..Machine::default() }, "caches");
    assert_eq!(sets(&caches, &wide(2), 3), ["0-1", "2,5", "3-4"]);
    let threads = Bind { threads: true, width: 2, ..bind("core", "") };
    assert_eq!(sets(&big("threads"), &threads, 2), ["0,32", "1,33"]);
}

#[test]
fn ranks_are_numbered_round_parts() {
    let host = big("numbers");
    let numbered = Bind { rank_by: Some(Level::Socket), ..bind("core", "ppr:2:socket") };
    assert_eq!(sets(&host, &numbered, 4), ["0,32", "16,48", "1,33", "17,49"]);
}

#[test]
fn ranks_are_near_a_device() {
    let host = read(Machine { sockets: 2, cores: 2, ..Machine::default() }, "near");
    assert_eq!(sets(&host, &bind("core", "dist:node1"), 3), ["2", "3", "0"]);
    assert_eq!(sets(&host, &bind("", "dist:node1"), 2), ["2-3", "0-1"]);
    assert!(laid(&host, &bind("core", "dist:eth7"), 1).remarks[0].contains("'eth7'"));
}

#[test]
fn neighbors_are_beside_each_other_where_numbers_alternate() {
    let host = read(Machine { sockets: 2, cores: 2, interleaved: true, ..Machine::default() }, "alternate");
    assert_eq!(sets(&host, &bind("core", ""), 4), ["0", "2", "1", "3"]);
    assert_eq!(sets(&host, &bind("core", "socket"), 4), ["0", "1", "2", "3"]);
}

#[test]
fn only_what_may_be_used_is() {
    // A container, or a cpuset, has given some processors of both sockets.
    let host = big("few").among(&[1, 33, 2, 17, 49]);
    assert_eq!(sets(&host, &bind("core", ""), 3), ["1,33", "2", "17,49"]);
    assert_eq!(sets(&host, &bind("core", "socket"), 3), ["1,33", "17,49", "2"]);
    let named = Bind { cpus: vec![2, 17, 40], ..bind("core", "") };
    assert_eq!(sets(&host, &named, 2), ["2", "17"]);
    let all = Bind { cpus: vec![2, 17], ..bind("none", "") };
    assert_eq!(sets(&host, &all, 2), ["2,17", "2,17"]);
    let wrong = Bind { cpus: vec![5], ..bind("core", "") };
    let refusal = lay_out(&host, &wrong, &[0], |_| None).unwrap_err().to_string();
    assert!(refusal.contains("those that may are 1-2,17,33,49"), "{refusal}");
}

#[test]
fn each_rank_has_the_processors_that_are_named() {
    let host = big("named");
    assert_eq!(sets(&host, &bind("user:0+32,5", ""), 2), ["0,32", "5"]);
    assert!(laid(&host, &bind("user:0,5", ""), 3).remarks[0].contains("3 ranks"));
    let refusal = lay_out(&host, &bind("user:0,99", ""), &[0, 1], |_| None).unwrap_err().to_string();
    assert!(refusal.contains("99"), "{refusal}");
}

#[test]
fn overloaded_parts_are_told_of() {
    let host = read(Machine { sockets: 2, cores: 2, threads: 2, ..Machine::default() }, "overload");
    let remark = |bind: &Bind, ranks| laid(&host, bind, ranks).remarks.concat();
    assert_eq!(remark(&bind("core", ""), 4), "");
    assert!(remark(&bind("core", ""), 5).contains("5 ranks have 4 cores, so that some share one"));
    assert_eq!(remark(&bind("core:overload-allowed", ""), 5), "");
    assert_eq!(remark(&bind("hwthread", ""), 8), "");
    assert!(remark(&bind("hwthread", ""), 9).contains("8 hardware threads"));
    assert_eq!(remark(&bind("socket", ""), 4), "");
    assert_eq!(remark(&bind("socket", ""), 5), "");
    assert!(remark(&bind("socket", "core"), 4).is_empty());
    assert!(remark(&bind("socket", "ppr:3:socket"), 3).contains("3 ranks have 1 part (socket) with 2 cores"));
    assert_eq!(remark(&Bind { threads: true, ..bind("socket", "") }, 8), "");
    assert!(lay_out(&host, &bind("core:no-overload", ""), &[0, 1, 2, 3, 4], |_| None).is_err());
}

#[test]
fn an_overload_that_only_mapping_would_bind_is_not_bound() {
    let host = read(Machine { cores: 2, ..Machine::default() }, "mapped");
    assert_eq!(sets(&host, &bind("", "core"), 2), ["0", "1"]);
    let layout = laid(&host, &bind("", "core"), 3);
    assert!(layout.sets.is_empty() && layout.remarks[0].contains("3 ranks"), "{layout:?}");
}

#[test]
fn a_rank_file_names_processors_of_ranks() {
    let host = big("file");
    let text = "rank 0=a slot=1:0-1\nrank 1=b slot=0\nrank 2=a slot=0:3,1:15;17\nrank 3=a slot=p40\nrank 4=a";
    let by_rank =
        || crate::plan::rankfile::parse(text).unwrap().into_iter().map(|place| place.slots).collect();
    let file = Bind { by_rank: by_rank(), ..Bind::default() };
    let own = |bind: &Bind, ranks: &[u32]| -> Vec<String> {
        let layout = lay_out(&host, bind, ranks, |_| None).unwrap();
        layout.sets.into_iter().map(|set| ranges::to_text(&ascending(set))).collect()
    };
    assert_eq!(own(&file, &[0, 2, 3, 4]), ["16-17,48-49", "3,17,31,35,49,63", "40", "0-63"]);
    let threads = Bind { by_rank: by_rank(), threads: true, ..Bind::default() };
    assert_eq!(own(&threads, &[0, 1]), ["16,48", "0"]);
    let among = Bind { by_rank: by_rank(), cpus: vec![40, 41], ..Bind::default() };
    assert_eq!(own(&among, &[1]), ["40"]);
    assert!(lay_out(&host, &among, &[0], |_| None).unwrap_err().to_string().contains("no socket 1"));
}
