use std::sync::Arc;

use super::*;
use tern_transport::TransportConfig;
use tern_transport::conformance::memfd;

fn usable(size: u32, cells: u32) -> u32 {
    oversubscribed_cells(&SegmentLayout::new(size, &TransportConfig { cells, ..TransportConfig::default() }))
}

#[test]
fn ranks_that_outnumber_the_cores_share_what_two_have() {
    assert_eq!([2, 4, 8, 16, 1000].map(|size| usable(size, 128)), [128, 64, 32, 16, 16]);
    assert_eq!([2, 16, 1000].map(|size| usable(size, 12)), [12, 12, 12]);
}

#[test]
fn what_is_lent_leaves_room_for_the_longest_message() {
    for cells in 2..=CELLS_MAX {
        let longest = message_cells_max(cells);
        assert!(lent_max(cells) + longest <= cells - cells / 4, "{cells} cells");
    }
}

/// A segment of so many ranks, and the pools of all.
fn pools(size: u32, oversubscribed: bool) -> (Arc<Segment>, Vec<CellPool>) {
    let config = TransportConfig::default();
    let file = memfd();
    let segment = Arc::new(Segment::attach(&file, size, &config).unwrap());
    let pools = (0..size).map(|rank| CellPool::new(&segment, rank, oversubscribed)).collect();
    (segment, pools)
}

/// Rank `from` sends a cell's message to `to`, which takes it. Which cell it was.
fn send(segment: &Segment, pools: &mut [CellPool], from: Peer, to: Peer) -> SendCell {
    let sent = pools[from as usize].take_for_ring(segment, to, 1 << 14).expect("a cell is free");
    pools[to as usize].emptied(segment, from, sent.name);
    sent
}

#[test]
fn an_exchange_uses_one_cell_for_both_ways() {
    let (segment, mut pools) = pools(2, false);
    let first = send(&segment, &mut pools, 0, 1);
    assert!(first.name.is_lent() && !first.is_hot);
    for _ in 0..100 {
        let answer = send(&segment, &mut pools, 1, 0);
        assert_eq!((answer.owner, answer.name.cell(), answer.is_hot), (0, first.name.cell(), true));
        assert!(answer.name.is_receivers());
        let next = send(&segment, &mut pools, 0, 1);
        assert_eq!((next.owner, next.name.cell(), next.is_hot), (0, first.name.cell(), true));
    }
    assert_eq!(pools[1].busy, 0, "the other rank needs none of its own");
}

#[test]
fn only_what_was_read_is_at_hand() {
    let (segment, mut pools) = pools(2, false);
    for count in 1..=3 {
        send(&segment, &mut pools, 0, 1);
        assert_eq!([pools[0].hot_for(1), pools[1].hot_for(0)], [0, count], "a stream in one direction");
    }
    send(&segment, &mut pools, 1, 0);
    assert_eq!([pools[0].hot_for(1), pools[1].hot_for(0)], [1, 2]);
    pools[0].take_for_ring(&segment, 1, 1 << 14).expect("a cell is free");
    assert_eq!(pools[0].hot_for(1), 0, "it is under way");
}

#[test]
fn who_only_receives_keeps_few() {
    let (segment, mut pools) = pools(3, false);
    for peer in [1, 2] {
        (0..1000).for_each(|_| _ = send(&segment, &mut pools, 0, peer));
        let lent = pools[0].lent_to[peer as usize];
        assert_eq!(lent, lent_max(CELLS_MAX) / 2, "to rank {peer}");
    }
    assert!(pools[0].lent.count_ones() <= 64);
    assert!(pools[0].has(&segment, 1, 60));
}

#[test]
fn what_is_kept_too_long_goes_back() {
    let size = 20;
    let (segment, mut pools) = pools(size, false);
    for _ in 0..100 {
        (1..size).for_each(|from| _ = send(&segment, &mut pools, from, 0));
    }
    assert_eq!(pools[0].kept.len(), CELLS_KEPT_MAX);
    for from in 1..size as usize {
        pools[from].look_at_all(&segment);
        let kept = pools[0].kept.iter().filter(|(owner, _)| *owner as usize == from).count() as u32;
        assert_eq!(pools[from].lent_to[0], kept);
    }
}

#[test]
fn where_ranks_outnumber_the_cores_nothing_is_lent() {
    let (segment, mut pools) = pools(2, true);
    assert!(!send(&segment, &mut pools, 0, 1).name.is_lent());
    assert!(pools[1].kept.is_empty());
}

#[test]
fn a_peer_returns_only_what_it_has() {
    let (segment, mut pools) = pools(3, false);
    let sent = pools[0].take_for_ring(&segment, 1, 1 << 14).unwrap();
    let busy = pools[0].busy;
    for (from, cell) in [(2, sent.name.cell()), (1, sent.name.cell() + 1), (1, 127)] {
        pools[0].emptied(&segment, from, CellName::of_receiver(cell));
        assert_eq!(pools[0].busy, busy, "rank {from} returns cell {cell}");
    }
    pools[0].emptied(&segment, 1, CellName::of_receiver(sent.name.cell()));
    assert_eq!(pools[0].busy, 0);
}
