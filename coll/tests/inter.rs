//! Collectives on intercommunicators, at all ranks of both groups, against the definition.

mod common;

use common::case::Case;
use common::{Lists, Rank, check, compose, data, fold, in_recv, shape, sum, values};
use tern_coll::{CollectiveCall, CommView, Root, Ty, TypedCount, Vector};

const GROUPS: [(u32, u32); 7] = [(1, 1), (1, 3), (3, 1), (3, 2), (4, 4), (2, 7), (8, 5)];
const LENGTHS: [u64; 3] = [0, 1, 5];

/// A process, the communicator as it sees it, and a number that is its own in both groups.
#[derive(Clone, Copy)]
struct Process {
    group: u32,
    comm: CommView<'static>,
}

impl Process {
    fn source(&self) -> u32 {
        source(self.group, self.comm.rank)
    }

    fn others(&self) -> std::ops::Range<u32> {
        0..self.comm.remote.expect("an intercommunicator")
    }

    /// The number of a process of the other group.
    fn other(&self, rank: u32) -> u32 {
        source(1 - self.group, rank)
    }

    fn part<'a>(&self, call: CollectiveCall<'a>) -> Rank<'a> {
        Rank::new(self.group, self.comm, call).ty(Ty::Send, self.send_shape()).ty(Ty::Recv, self.recv_shape())
    }

    fn send_shape(&self) -> tern_coll::interp::DatatypeShape {
        shape(self.source())
    }

    fn recv_shape(&self) -> tern_coll::interp::DatatypeShape {
        shape(self.source() / 2 + 1)
    }
}

fn source(group: u32, rank: u32) -> u32 {
    group * 100 + rank
}

fn processes((left, right): (u32, u32)) -> Vec<Process> {
    let side = |group, size, remote| {
        (0..size).map(move |rank| Process { group, comm: CommView::inter(rank, size, remote) })
    };
    side(0, left, right).chain(side(1, right, left)).collect()
}

fn each<'a>(groups: (u32, u32), part: impl FnMut(Process) -> Rank<'a>) -> Vec<Rank<'a>> {
    processes(groups).into_iter().map(part).collect()
}

/// Every pair of groups with every root in the left one, and lengths.
fn for_each_root(mut case: impl FnMut((u32, u32), u32, u64)) {
    for (groups, elements) in GROUPS.into_iter().flat_map(|groups| LENGTHS.map(|length| (groups, length))) {
        (0..groups.0).for_each(|root| case(groups, root, elements));
    }
}

/// How a process of either group names the root, which is `root` of the left group.
fn root_for(process: &Process, root: u32) -> Root {
    match process.group {
        0 if process.comm.rank == root => Root::Here,
        0 => Root::Elsewhere,
        _ => Root::Rank(root),
    }
}

#[test]
fn barrier() {
    for groups in GROUPS {
        check(&each(groups, |process| process.part(CollectiveCall::Barrier)), &Case::table(), sum, 1);
    }
}

#[test]
fn bcast() {
    for_each_root(|groups, root, elements| {
        let parts = each(groups, |process| {
            let (data, message) = (data(&process.recv_shape(), elements), values(root, 0, elements));
            let named = root_for(&process, root);
            let part = process.part(CollectiveCall::Bcast { data, root: named });
            match named {
                Root::Here => part.holds(in_recv(data), message),
                Root::Elsewhere => part,
                Root::Rank(_) => part.expects(in_recv(data), message),
            }
        });
        check(&parts, &Case::table(), sum, elements);
    });
}

#[test]
fn gather_and_scatter() {
    for_each_root(|groups, root, elements| {
        check(&each(groups, |process| gather_part(process, root, elements)), &Case::table(), sum, 2);
        check(&each(groups, |process| scatter_part(process, root, elements)), &Case::table(), sum, 3);
    });
}

fn gather_part(process: Process, root: u32, elements: u64) -> Rank<'static> {
    let named = root_for(&process, root);
    let own = data(&process.send_shape(), elements);
    let recv = data(&process.recv_shape(), elements);
    match named {
        Root::Here => {
            let part =
                process.part(CollectiveCall::Gather { send: Some(TypedCount::default()), recv, root: named });
            process.others().fold(part, |part, rank| {
                part.expects(in_recv(recv).block(rank), values(process.other(rank), 0, elements))
            })
        }
        Root::Elsewhere => {
            process.part(CollectiveCall::Gather { send: Some(own), recv: TypedCount::default(), root: named })
        }
        Root::Rank(_) => process
            .part(CollectiveCall::Gather { send: Some(own), recv: TypedCount::default(), root: named })
            .sends(own.in_send(), values(process.source(), 0, elements)),
    }
}

fn scatter_part(process: Process, root: u32, elements: u64) -> Rank<'static> {
    let named = root_for(&process, root);
    let block = data(&process.send_shape(), elements);
    let own = data(&process.recv_shape(), elements);
    match named {
        Root::Here => {
            let part = process.part(CollectiveCall::Scatter { send: block, recv: None, root: named });
            process.others().fold(part, |part, rank| {
                part.sends(block.in_send().block(rank), values(root, process.other(rank), elements))
            })
        }
        Root::Elsewhere => process.part(CollectiveCall::Scatter {
            send: TypedCount::default(),
            recv: Some(own),
            root: named,
        }),
        Root::Rank(_) => process
            .part(CollectiveCall::Scatter { send: TypedCount::default(), recv: Some(own), root: named })
            .expects(in_recv(own), values(root, process.source(), elements)),
    }
}

/// How many elements a process contributes to a v call.
fn uneven(source: u32) -> u64 {
    u64::from((source * 3 + 1) % 4)
}

#[test]
fn gatherv_and_scatterv() {
    for_each_root(|groups, root, _| {
        let lists: Vec<Lists> = processes(groups)
            .iter()
            .map(|process| {
                let elements = process.others().map(|rank| uneven(process.other(rank))).collect();
                Lists::new(elements, &shape(process.source()), root % 2 == 1)
            })
            .collect();
        let mut remaining = lists.iter();
        let gather = each(groups, |process| {
            gatherv_part(process, root, remaining.next().unwrap().vector(root % 2 == 0))
        });
        check(&gather, &Case::table(), sum, 4);
        let mut remaining = lists.iter();
        let scatter = each(groups, |process| {
            scatterv_part(process, root, remaining.next().unwrap().vector(root % 2 == 0))
        });
        check(&scatter, &Case::table(), sum, 5);
    });
}

fn gatherv_part<'a>(process: Process, root: u32, recv: Vector<'a>) -> Rank<'a> {
    let named = root_for(&process, root);
    let own = data(&process.send_shape(), uneven(process.source()));
    let part = Rank::new(
        process.group,
        process.comm,
        CollectiveCall::Gatherv { send: Some(own), recv, root: named },
    )
    .ty(Ty::Send, process.send_shape())
    .ty(Ty::Recv, shape(process.source()));
    match named {
        Root::Here => process.others().fold(part, |part, rank| {
            let source = process.other(rank);
            part.expects(recv.in_recv(rank), values(source, 0, uneven(source)))
        }),
        Root::Elsewhere => part,
        Root::Rank(_) => part.sends(own.in_send(), values(process.source(), 0, uneven(process.source()))),
    }
}

fn scatterv_part<'a>(process: Process, root: u32, send: Vector<'a>) -> Rank<'a> {
    let named = root_for(&process, root);
    let own = data(&process.recv_shape(), uneven(process.source()));
    let part = process.part(CollectiveCall::Scatterv { send, recv: Some(own), root: named });
    match named {
        Root::Here => process.others().fold(part, |part, rank| {
            let target = process.other(rank);
            part.sends(send.in_send(rank), values(root, target, uneven(target)))
        }),
        Root::Elsewhere => part,
        Root::Rank(_) => part.expects(in_recv(own), values(root, process.source(), uneven(process.source()))),
    }
}

/// How many elements each process of a group contributes to an allgather: the groups differ, and one may
/// contribute nothing.
fn of_group(group: u32, elements: u64) -> u64 {
    if group == 0 { elements } else { (elements + 4) % 6 }
}

#[test]
fn allgather() {
    for (groups, elements) in GROUPS.into_iter().flat_map(|groups| LENGTHS.map(|length| (groups, length))) {
        let parts = each(groups, |process| {
            let (mine, theirs) = (of_group(process.group, elements), of_group(1 - process.group, elements));
            let (own, recv) = (data(&process.send_shape(), mine), data(&process.recv_shape(), theirs));
            let part = process
                .part(CollectiveCall::Allgather { send: Some(own), recv })
                .sends(own.in_send(), values(process.source(), 0, mine));
            process.others().fold(part, |part, rank| {
                part.expects(in_recv(recv).block(rank), values(process.other(rank), 0, theirs))
            })
        });
        check(&parts, &Case::table(), sum, 6);
    }
}

#[test]
fn allgatherv() {
    for groups in GROUPS {
        let lists: Vec<Lists> = processes(groups)
            .iter()
            .map(|process| {
                let elements = process.others().map(|rank| uneven(process.other(rank))).collect();
                Lists::new(elements, &process.recv_shape(), process.comm.rank % 2 == 1)
            })
            .collect();
        let mut remaining = lists.iter();
        let parts = each(groups, |process| {
            let recv = remaining.next().unwrap().vector(true);
            let own = data(&process.send_shape(), uneven(process.source()));
            let part = process
                .part(CollectiveCall::Allgatherv { send: Some(own), recv })
                .sends(own.in_send(), values(process.source(), 0, uneven(process.source())));
            process.others().fold(part, |part, rank| {
                let source = process.other(rank);
                part.expects(recv.in_recv(rank), values(source, 0, uneven(source)))
            })
        });
        check(&parts, &Case::table(), sum, 7);
    }
}

#[test]
fn alltoall() {
    for (groups, elements) in GROUPS.into_iter().flat_map(|groups| LENGTHS.map(|length| (groups, length))) {
        let parts = each(groups, |process| {
            let (mine, theirs) = (of_group(process.group, elements), of_group(1 - process.group, elements));
            let (block, recv) = (data(&process.send_shape(), mine), data(&process.recv_shape(), theirs));
            let part = process.part(CollectiveCall::Alltoall { send: Some(block), recv });
            process.others().fold(part, |part, rank| {
                let other = process.other(rank);
                part.sends(block.in_send().block(rank), values(process.source(), other, mine))
                    .expects(in_recv(recv).block(rank), values(other, process.source(), theirs))
            })
        });
        check(&parts, &Case::table(), sum, 8);
    }
}

fn traffic(from: u32, to: u32) -> u64 {
    u64::from((from * 3 + to * 5) % 4)
}

#[test]
fn alltoallv_and_w() {
    for (groups, typed) in GROUPS.into_iter().flat_map(|groups| [(groups, false), (groups, true)]) {
        let lists: Vec<(Lists, Lists)> =
            processes(groups).iter().map(|process| exchange_lists(process, typed)).collect();
        let mut remaining = lists.iter();
        let parts = each(groups, |process| {
            let (out, back) = remaining.next().unwrap();
            exchange_part(process, out, back, typed)
        });
        check(&parts, &Case::table(), sum, 9);
    }
}

fn exchange_lists(process: &Process, typed: bool) -> (Lists, Lists) {
    let out = process.others().map(|rank| traffic(process.source(), process.other(rank))).collect();
    let back = process.others().map(|rank| traffic(process.other(rank), process.source())).collect();
    if typed {
        (Lists::typed(out, process.source(), true), Lists::typed(back, process.source() + 1, false))
    } else {
        (Lists::new(out, &process.send_shape(), true), Lists::new(back, &process.recv_shape(), false))
    }
}

fn exchange_part<'a>(process: Process, out: &'a Lists, back: &'a Lists, typed: bool) -> Rank<'a> {
    let (send, recv) = match typed {
        true => (out.typed_vector(true), back.typed_vector(false)),
        false => (out.vector(true), back.vector(false)),
    };
    let call = match typed {
        true => CollectiveCall::Alltoallw { send: Some(send), recv },
        false => CollectiveCall::Alltoallv { send: Some(send), recv },
    };
    process.others().fold(process.part(call), |part, rank| {
        let (source, other) = (process.source(), process.other(rank));
        part.ty(Ty::SendTo(rank), out.shapes[rank as usize].clone())
            .ty(Ty::RecvFrom(rank), back.shapes[rank as usize].clone())
            .sends(send.in_send(rank), values(source, other, traffic(source, other)))
            .expects(recv.in_recv(rank), values(other, source, traffic(other, source)))
    })
}

/// The result of one group's operands.
fn reduced(group: u32, size: u32, elements: u64) -> Vec<u8> {
    fold((0..size).map(|rank| values(source(group, rank), 0, elements)), compose)
}

fn size_of(groups: (u32, u32), group: u32) -> u32 {
    if group == 0 { groups.0 } else { groups.1 }
}

#[test]
fn reduce() {
    for_each_root(|groups, root, elements| {
        let parts = each(groups, |process| {
            let data = data(&shape(2), elements);
            let named = root_for(&process, root);
            let call = CollectiveCall::Reduce { data, in_place: false, commutative: false, root: named };
            let part = Rank::new(process.group, process.comm, call).ty(Ty::Recv, shape(2));
            match named {
                Root::Here => part.expects(in_recv(data), reduced(1, groups.1, elements)),
                Root::Elsewhere => part,
                Root::Rank(_) => part.sends(data.operand(false), values(process.source(), 0, elements)),
            }
        });
        check(&parts, &Case::table(), compose, 10);
    });
}

#[test]
fn allreduce() {
    for (groups, elements) in GROUPS.into_iter().flat_map(|groups| LENGTHS.map(|length| (groups, length))) {
        let parts = each(groups, |process| {
            let data = data(&shape(1), elements);
            let remote = 1 - process.group;
            Rank::new(
                process.group,
                process.comm,
                CollectiveCall::Allreduce { data, in_place: false, commutative: false },
            )
            .ty(Ty::Recv, shape(1))
            .sends(data.operand(false), values(process.source(), 0, elements))
            .expects(in_recv(data), reduced(remote, size_of(groups, remote), elements))
        });
        check(&parts, &Case::table(), compose, 11);
    }
}

#[test]
fn reduce_scatter_and_block() {
    for groups in GROUPS {
        // Both groups contribute the same number of elements, cut by their own sizes.
        let total = u64::from(groups.0 * groups.1 * 2);
        let lists = [groups.0, groups.1].map(|size| {
            let mut elements = vec![total / u64::from(size); size as usize];
            if size > 1 {
                elements[0] -= 1;
                elements[1] += 1;
            }
            Lists::new(elements, &shape(1), false)
        });
        for block in [false, true] {
            let parts = each(groups, |process| {
                reduce_scatter_part(process, groups, &lists[process.group as usize], total, block)
            });
            check(&parts, &Case::table(), compose, 12);
        }
    }
}

fn reduce_scatter_part<'a>(
    process: Process,
    groups: (u32, u32),
    lists: &'a Lists,
    total: u64,
    block: bool,
) -> Rank<'a> {
    let (layout, rank) = (shape(1).layout(), process.comm.rank);
    let even = total / u64::from(process.comm.size);
    let elements = |rank: u32| if block { even } else { lists.elements(rank) };
    let call = if block {
        CollectiveCall::ReduceScatterBlock {
            data: data(&shape(1), even),
            in_place: false,
            commutative: false,
        }
    } else {
        CollectiveCall::ReduceScatter {
            counts: lists.counts(false),
            layout,
            in_place: false,
            commutative: false,
        }
    };
    let remote = 1 - process.group;
    let result = reduced(remote, size_of(groups, remote), total);
    let first = (0..rank).map(elements).sum::<u64>() as usize * common::ELEMENT;
    let own = result[first..first + elements(rank) as usize * common::ELEMENT].to_vec();
    Rank::new(process.group, process.comm, call)
        .ty(Ty::Recv, shape(1))
        .sends(data(&shape(1), total).operand(false), values(process.source(), 0, total))
        .expects(in_recv(data(&shape(1), elements(rank))), own)
}
