//! Collectives in two tiers: among the ranks of each node, and among one rank of each, which leads it, so that as
//! little as possible crosses the network. Kielmann and others, "MagPIe: MPI's collective communication operations
//! for clustered wide area systems", PPoPP 1999; Karonis and others, "Exploiting hierarchy in parallel computer
//! networks to optimize collective operation performance", IPDPS 2000.
//!
//! Where a call has a root, it leads its own node, so no data makes a detour. Reductions are always led by the
//! lowest ranks, so that the result has the same bits for every root.

use crate::limits::{LEADERS_RING_BYTES_MIN, LEADERS_TREE_BYTES_MAX};
use crate::nodes::Nodes;
use crate::reduce_scatter::{self, ScatterBlocks};
use crate::schedule::{Schedule, Span};
use crate::shape::{Member, Ranks};
use crate::tree::{Tree, pass_on};
use crate::{allgather, barrier, bcast, gather, reduce, scatter};

/// The two tiers as one rank sees them.
#[derive(Clone, Copy, Debug)]
pub struct Tiers<'a> {
    pub(crate) nodes: &'a Nodes,
    pub(crate) node: u32,
    /// The ranks of this node.
    pub(crate) local: Member<'a>,
    /// The number of the leader among them.
    pub(crate) local_leader: u32,
    /// The leaders of all nodes.
    leaders: Ranks<'a>,
}

impl<'a> Tiers<'a> {
    /// The tiers of a rank, led by the lowest ranks.
    pub fn new(nodes: &'a Nodes, rank: u32) -> Self {
        let node = nodes.of(rank);
        let (first, size) = nodes.places_of(node);
        let local = Member { rank: nodes.place(rank) - first, size, ranks: nodes.ranks_of(node) };
        Tiers { nodes, node, local, local_leader: 0, leaders: Ranks::Listed(nodes.leaders()) }
    }

    /// The same with `root` as the leader of its node, and the number of that node.
    pub(crate) fn rooted_at(self, root: u32) -> (Self, u32) {
        let home = self.nodes.of(root);
        let local_leader =
            if home == self.node { self.nodes.place(root) - self.nodes.places_of(home).0 } else { 0 };
        let leaders = Ranks::But(self.nodes.leaders(), home, root);
        (Tiers { local_leader, leaders, ..self }, home)
    }

    /// This rank among the leaders, if it is one.
    pub(crate) fn leader(&self) -> Option<Member<'a>> {
        let leader = Member { rank: self.node, size: self.nodes.count(), ranks: self.leaders };
        (self.local.rank == self.local_leader).then_some(leader)
    }

    /// The blocks of a node, where all blocks lie node after node.
    pub(crate) fn blocks(&self, all: Span, node: u32) -> Span {
        self.node_blocks(all, node, 1)
    }

    /// The blocks of `number` nodes from a first one on.
    fn node_blocks(&self, all: Span, first: u32, number: u32) -> Span {
        let (place, ranks) = self.places_of(first, number);
        all.blocks(place, ranks)
    }

    /// The first place and the number of places of `number` nodes from a first one on.
    pub(crate) fn places_of(&self, first: u32, number: u32) -> (u32, u32) {
        if number == 0 {
            return (0, 0);
        }
        let (start, _) = self.nodes.places_of(first);
        let (last, ranks) = self.nodes.places_of(first + number - 1);
        (start, last + ranks - start)
    }

    /// The rank of a member of this node.
    pub(crate) fn rank_of(&self, local: u32) -> u32 {
        self.nodes.rank_at(self.nodes.places_of(self.node).0 + local)
    }
}

/// All signal their leaders, these disseminate, and let their nodes go.
pub fn barrier(s: &mut Schedule, tiers: Tiers) {
    barrier::gather_signals(s, tiers.local);
    if let Some(leader) = tiers.leader() {
        barrier::dissemination(s, leader);
    }
    barrier::release(s, tiers.local);
}

/// Down a tree of leaders and from each down a tree of its node, as one tree, in segments: the network carries one
/// segment while the nodes pass on those before.
pub fn bcast(s: &mut Schedule, tiers: Tiers, root: u32, data: Span, tree: Tree, segment_bytes: u64) {
    let (tiers, home) = tiers.rooted_at(root);
    let within = tiers.local.rotated(tiers.local_leader);
    let among = tiers.leader().map(|leader| leader.rotated(home));
    let parent = match &among {
        Some(among) => tree.parent(among),
        None => tree.parent(&within),
    };
    // The network is the slower part, so it comes first.
    let far = among.into_iter().flat_map(|among| tree.children(among));
    let children = far.chain(tree.children(within));
    bcast::in_segments(
        s,
        tiers.rank_of(tiers.local.rank) == root,
        data,
        segment_bytes,
        |s, pieces, piece| {
            pass_on(s, parent, children, pieces, piece);
        },
    );
}

/// Up the binomial tree of each node, then up that of the leaders.
pub fn reduce(s: &mut Schedule, tiers: Tiers, root: u32, own: Span, home: Span) {
    if own.bytes() == 0 {
        return;
    }
    let me = tiers.rank_of(tiers.local.rank);
    let home_here = (me == root).then_some(home);
    let at_first = home_here.filter(|_| root == 0);
    let mut result = reduce::to_first(s, tiers.local, own, at_first);
    if let Some(leader) = tiers.leader() {
        result = reduce::to_first(s, leader, result, at_first);
    }
    reduce::deliver(s, Member::new(me, tiers.nodes.size()), root, result, home_here);
}

/// Each node reduces to its leader, these reduce to all in place, and broadcast to their nodes. What the leaders
/// and the nodes do is the caller's choice.
pub fn allreduce(
    s: &mut Schedule,
    tiers: Tiers,
    own: Span,
    home: Span,
    among: impl FnOnce(&mut Schedule, Member, Span),
    within: impl FnOnce(&mut Schedule, Member, Span),
) {
    if own.bytes() == 0 {
        return;
    }
    let leader = tiers.leader();
    let result = reduce::to_first(s, tiers.local, own, leader.map(|_| home));
    if let Some(leader) = leader {
        s.copy(result, home);
        among(s, leader, home);
    }
    within(s, tiers.local, home);
}

/// Each node gathers at its leader, the leaders exchange whole nodes, and broadcast all to their nodes by
/// `within`. `send` and `first` are as in [`allgather`]. Short nodes are exchanged in Bruck's rounds, long ones around
/// a ring.
pub fn allgather(
    s: &mut Schedule,
    tiers: Tiers,
    send: Option<Span>,
    first: Span,
    within: impl FnOnce(&mut Schedule, Member, Span),
) {
    if first.bytes() == 0 {
        return;
    }
    let ranks = tiers.nodes.size();
    let all = node_after_node(s, &tiers, first, first.bytes(), ranks);
    let own = send.unwrap_or(first.block(tiers.rank_of(tiers.local.rank)));
    gather::binomial(s, tiers.local, 0, Some(own), tiers.blocks(all, tiers.node).part(0, all.count));
    if let Some(leader) = tiers.leader() {
        let node_bytes = first.bytes().saturating_mul(ranks.into()) / u64::from(leader.size);
        if node_bytes < LEADERS_RING_BYTES_MIN {
            allgather::bruck_in_place(s, leader, |first, number| tiers.node_blocks(all, first, number));
        } else {
            allgather::ring_over(s, leader, |rank| leader.peer(rank), None, |node| tiers.blocks(all, node));
        }
    }
    within(s, tiers.local, all.blocks(0, ranks));
    if all.buf != first.buf {
        (0..ranks).for_each(|place| s.copy(all.block(place), first.block(tiers.nodes.rank_at(place))));
    }
}

/// The blocks that start with `first`, if they lie node after node, else memory where they would.
pub(crate) fn node_after_node(
    s: &mut Schedule,
    tiers: &Tiers,
    first: Span,
    block_bytes: u64,
    ranks: u32,
) -> Span {
    if tiers.nodes.is_in_rank_order() {
        return first;
    }
    let all = s.temp_bytes(block_bytes.saturating_mul(u64::from(ranks)));
    Span { count: block_bytes, ..all }
}

/// Each node reduces to its leader, these reduce and scatter the blocks of whole nodes among each other, and scatter
/// them to their ranks. For operations that commute, and nodes whose ranks follow each other.
pub fn reduce_scatter(
    s: &mut Schedule,
    tiers: Tiers,
    blocks: &ScatterBlocks<impl Fn(u32, u32) -> (u64, u64)>,
    home: Span,
) {
    let (first, ranks) = tiers.places_of(tiers.node, 1);
    let start = (blocks.range)(first, ranks).0;
    let result = reduce::to_first(s, tiers.local, blocks.all, None);
    let mut part = blocks.all;
    if let Some(leader) = tiers.leader() {
        part = s.temp_like(blocks.all.part(0, (blocks.range)(first, ranks).1));
        let node = |first: u32, number: u32| {
            let (place, ranks) = tiers.places_of(first, number);
            (blocks.range)(place, ranks)
        };
        let nodes = ScatterBlocks { all: result, range: node };
        if leader.power_of_two() {
            reduce_scatter::recursive_halving(s, leader, &nodes, part);
        } else if blocks.all.bytes() <= LEADERS_TREE_BYTES_MAX {
            reduce_scatter::reduce_then_scatter(s, leader, &nodes, part);
        } else {
            reduce_scatter::pairwise(s, leader, &nodes, part);
        }
    }
    let block = |local: u32| {
        let (from, count) = (blocks.range)(first + local, 1);
        part.part(from - start, count)
    };
    scatter::linear(s, tiers.local, 0, block, Some(home));
}

/// Each node gathers at its leader, who sends everything to the root in one message. `send` and `first` are as in
/// [`gather::binomial`].
pub fn gather(s: &mut Schedule, tiers: Tiers, root: u32, send: Option<Span>, first: Span) {
    let (tiers, home) = tiers.rooted_at(root);
    let bytes = send.unwrap_or(first).bytes();
    if bytes == 0 {
        return;
    }
    if tiers.node == home {
        gather_at_home(s, &tiers, home, send, first);
        return;
    }
    let mut block = first;
    if tiers.leader().is_some() {
        let all = s.temp_bytes(bytes.saturating_mul(u64::from(tiers.local.size)));
        block = Span { count: bytes, ..all };
    }
    gather::binomial(s, tiers.local, 0, send, block);
    if let Some(leader) = tiers.leader() {
        s.send(leader.peer(home), block.blocks(0, tiers.local.size));
        s.wait();
    }
}

fn gather_at_home(s: &mut Schedule, tiers: &Tiers, home: u32, send: Option<Span>, first: Span) {
    let Some(leader) = tiers.leader() else {
        gather::linear(s, tiers.local, tiers.local_leader, send, |_| first);
        return;
    };
    let all = node_after_node(s, tiers, first, first.bytes(), tiers.nodes.size());
    for node in others(tiers, home) {
        s.recv(leader.peer(node), tiers.blocks(all, node));
    }
    gather::linear(s, tiers.local, tiers.local_leader, send, |local| first.block(tiers.rank_of(local)));
    each_elsewhere(tiers, home, all, first, |place, rank| s.copy(place, rank));
}

/// The root sends each node's blocks to its leader in one message, who scatters them. `first` and `recv` are as in
/// [`scatter::binomial`].
pub fn scatter(s: &mut Schedule, tiers: Tiers, root: u32, first: Span, recv: Option<Span>) {
    let (tiers, home) = tiers.rooted_at(root);
    let bytes = recv.unwrap_or(first).bytes();
    if bytes == 0 {
        return;
    }
    if tiers.node == home {
        scatter_from_home(s, &tiers, home, first, recv);
        return;
    }
    let mut block = first;
    if let Some(leader) = tiers.leader() {
        let all = s.temp_bytes(bytes.saturating_mul(u64::from(tiers.local.size)));
        s.recv(leader.peer(home), all);
        s.wait();
        block = Span { count: bytes, ..all };
    }
    scatter::binomial(s, tiers.local, 0, block, recv);
}

fn scatter_from_home(s: &mut Schedule, tiers: &Tiers, home: u32, first: Span, recv: Option<Span>) {
    let Some(leader) = tiers.leader() else {
        scatter::linear(s, tiers.local, tiers.local_leader, |_| first, recv);
        return;
    };
    let all = node_after_node(s, tiers, first, first.bytes(), tiers.nodes.size());
    each_elsewhere(tiers, home, all, first, |place, rank| s.copy(rank, place));
    for node in others(tiers, home) {
        s.send(leader.peer(node), tiers.blocks(all, node));
    }
    scatter::linear(s, tiers.local, tiers.local_leader, |local| first.block(tiers.rank_of(local)), recv);
}

pub(crate) fn others(tiers: &Tiers, home: u32) -> impl Iterator<Item = u32> + use<> {
    (0..tiers.nodes.count()).filter(move |node| *node != home)
}

/// Every block of another node than `home` as it lies in `all` and as it lies in rank order; none if that is the
/// same.
pub(crate) fn each_elsewhere(
    tiers: &Tiers,
    home: u32,
    all: Span,
    first: Span,
    mut each: impl FnMut(Span, Span),
) {
    if all.buf == first.buf {
        return;
    }
    for node in others(tiers, home) {
        let (start, ranks) = tiers.nodes.places_of(node);
        for place in start..start + ranks {
            each(all.block(place), first.block(tiers.nodes.rank_at(place)));
        }
    }
}
