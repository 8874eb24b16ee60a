//! Every algorithm that moves data, at all ranks, against the definition.

mod common;

use common::case::{Case, cases, lengths, roots, sizes};
use common::{Lists, Rank, check, data, in_recv, shape, sum, values};
use tern_coll::{Algorithm, Collective, CollectiveCall, CommView, Root, Ty, TypedCount, Vector};

const ELEMENTS: [u64; 3] = [0, 1, 5];

fn ranks<'a>(size: u32, rank: impl FnMut(u32) -> Rank<'a>) -> Vec<Rank<'a>> {
    (0..size).map(rank).collect()
}

/// A rank of an intracommunicator, with a send and a receive type that vary by rank.
fn member<'a>(rank: u32, size: u32, call: CollectiveCall<'a>) -> Rank<'a> {
    Rank::new(0, CommView::intra(rank, size), call)
        .ty(Ty::Send, send_shape(rank))
        .ty(Ty::Recv, recv_shape(rank))
}

fn send_shape(rank: u32) -> tern_coll::interp::DatatypeShape {
    shape(rank)
}

fn recv_shape(rank: u32) -> tern_coll::interp::DatatypeShape {
    shape(rank / 2 + 1)
}

#[test]
fn bcast() {
    for (size, elements) in sizes().flat_map(|size| lengths(size, [0, 1, 40, 5]).map(move |e| (size, e))) {
        for (root, case) in
            roots(size).flat_map(|root| cases(Collective::Bcast, size).into_iter().map(move |c| (root, c)))
        {
            let message = values(root, 0, elements);
            let ranks = ranks(size, |rank| {
                let data = data(&recv_shape(rank), elements);
                let member = member(rank, size, CollectiveCall::Bcast { data, root: Root::Rank(root) });
                if rank == root {
                    member.holds(in_recv(data), message.clone())
                } else {
                    member.expects(in_recv(data), message.clone())
                }
            });
            check(&ranks, &case, sum, u64::from(root));
        }
    }
}

#[test]
fn a_long_chain_has_many_segments() {
    for size in [2, 3, 5] {
        let elements = 40_000;
        let ranks = ranks(size, |rank| {
            let data = data(&recv_shape(rank), elements);
            let member = member(rank, size, CollectiveCall::Bcast { data, root: Root::Rank(1) });
            let message = (in_recv(data), values(0, 0, elements));
            if rank == 1 { member.holds(message.0, message.1) } else { member.expects(message.0, message.1) }
        });
        check(&ranks, &Case::of(Algorithm::Chain), sum, 3);
    }
}

#[test]
fn gather() {
    for_each_rooted(Collective::Gather, |size, root, elements, in_place| {
        ranks(size, |rank| {
            let own = data(&send_shape(rank), elements);
            let block = data(&recv_shape(rank), elements);
            let at_root = rank == root;
            let send = (!(at_root && in_place)).then_some(own);
            let recv = if at_root { block } else { TypedCount::default() };
            let mut member =
                member(rank, size, CollectiveCall::Gather { send, recv, root: Root::Rank(root) });
            member = match send {
                Some(own) => member.sends(own.in_send(), values(rank, 0, elements)),
                None => member.holds(in_recv(block).block(rank), values(rank, 0, elements)),
            };
            let sources = if at_root { 0..size } else { 0..0 };
            sources.fold(member, |member, source| {
                member.expects(in_recv(block).block(source), values(source, 0, elements))
            })
        })
    });
}

#[test]
fn scatter() {
    for_each_rooted(Collective::Scatter, |size, root, elements, in_place| {
        ranks(size, |rank| {
            let block = data(&send_shape(rank), elements);
            let own = data(&recv_shape(rank), elements);
            let at_root = rank == root;
            let recv = (!(at_root && in_place)).then_some(own);
            let send = if at_root { block } else { TypedCount::default() };
            let member = member(rank, size, CollectiveCall::Scatter { send, recv, root: Root::Rank(root) });
            let targets = if at_root { 0..size } else { 0..0 };
            let member = targets.fold(member, |member, target| {
                member.sends(block.in_send().block(target), values(root, target, elements))
            });
            match recv {
                Some(own) => member.expects(in_recv(own), values(root, rank, elements)),
                None => member,
            }
        })
    });
}

/// Runs cases for every size, root, algorithm and length, in place and not.
fn for_each_rooted<'a>(collective: Collective, ranks: impl Fn(u32, u32, u64, bool) -> Vec<Rank<'a>>) {
    for size in sizes() {
        for (root, elements) in roots(size).flat_map(|root| lengths(size, ELEMENTS).map(move |e| (root, e))) {
            for (case, in_place) in
                cases(collective, size).iter().flat_map(|case| [(case, false), (case, true)])
            {
                check(&ranks(size, root, elements, in_place), case, sum, elements + u64::from(root));
            }
        }
    }
}

/// How many elements a rank contributes to a v call: some none.
fn uneven(rank: u32) -> u64 {
    u64::from((rank * 3 + 1) % 4)
}

#[test]
fn gatherv() {
    for (size, wide) in sizes().flat_map(|size| [(size, false), (size, true)]) {
        for (root, in_place) in roots(size).flat_map(|root| [(root, false), (root, true)]) {
            let lists = Lists::new((0..size).map(uneven).collect(), &recv_shape(root), wide);
            let ranks = ranks(size, |rank| {
                let own = data(&send_shape(rank), uneven(rank));
                let at_root = rank == root;
                let send = (!(at_root && in_place)).then_some(own);
                let recv = if at_root { lists.vector(wide) } else { Vector::default() };
                let mut member =
                    member(rank, size, CollectiveCall::Gatherv { send, recv, root: Root::Rank(root) });
                member = match send {
                    Some(own) => member.sends(own.in_send(), values(rank, 0, uneven(rank))),
                    None => member.holds(recv.in_recv(rank), values(rank, 0, uneven(rank))),
                };
                let sources = if at_root { 0..size } else { 0..0 };
                sources.fold(member, |member, source| {
                    member.expects(recv.in_recv(source), values(source, 0, uneven(source)))
                })
            });
            check(&ranks, &Case::table(), sum, 7);
        }
    }
}

#[test]
fn scatterv() {
    for (size, wide) in sizes().flat_map(|size| [(size, false), (size, true)]) {
        for (root, in_place) in roots(size).flat_map(|root| [(root, false), (root, true)]) {
            let lists = Lists::new((0..size).map(uneven).collect(), &send_shape(root), !wide);
            let ranks = ranks(size, |rank| {
                let own = data(&recv_shape(rank), uneven(rank));
                let at_root = rank == root;
                let recv = (!(at_root && in_place)).then_some(own);
                let send = if at_root { lists.vector(wide) } else { Vector::default() };
                let member =
                    member(rank, size, CollectiveCall::Scatterv { send, recv, root: Root::Rank(root) });
                let targets = if at_root { 0..size } else { 0..0 };
                let member = targets.fold(member, |member, target| {
                    member.sends(send.in_send(target), values(root, target, uneven(target)))
                });
                match recv {
                    Some(own) => member.expects(in_recv(own), values(root, rank, uneven(rank))),
                    None => member,
                }
            });
            check(&ranks, &Case::table(), sum, 8);
        }
    }
}

#[test]
fn allgather() {
    for (size, elements) in sizes().flat_map(|size| lengths(size, ELEMENTS).map(move |e| (size, e))) {
        for (case, in_place) in
            cases(Collective::Allgather, size).iter().flat_map(|case| [(case, false), (case, true)])
        {
            let ranks = ranks(size, |rank| {
                let own = data(&send_shape(rank), elements);
                let recv = data(&recv_shape(rank), elements);
                let send = (!in_place).then_some(own);
                let mut member = member(rank, size, CollectiveCall::Allgather { send, recv });
                member = match send {
                    Some(own) => member.sends(own.in_send(), values(rank, 0, elements)),
                    None => member.holds(in_recv(recv).block(rank), values(rank, 0, elements)),
                };
                (0..size).fold(member, |member, source| {
                    member.expects(in_recv(recv).block(source), values(source, 0, elements))
                })
            });
            check(&ranks, case, sum, elements);
        }
    }
}

#[test]
fn allgatherv() {
    for (size, wide, in_place) in
        sizes().flat_map(|size| [(size, false, false), (size, true, false), (size, true, true)])
    {
        let lists: Vec<Lists> = (0..size)
            .map(|rank| Lists::new((0..size).map(uneven).collect(), &recv_shape(rank), rank % 2 == 1))
            .collect();
        let ranks = ranks(size, |rank| {
            let own = data(&send_shape(rank), uneven(rank));
            let recv = lists[rank as usize].vector(wide);
            let send = (!in_place).then_some(own);
            let mut member = member(rank, size, CollectiveCall::Allgatherv { send, recv });
            member = match send {
                Some(own) => member.sends(own.in_send(), values(rank, 0, uneven(rank))),
                None => member.holds(recv.in_recv(rank), values(rank, 0, uneven(rank))),
            };
            (0..size).fold(member, |member, source| {
                member.expects(recv.in_recv(source), values(source, 0, uneven(source)))
            })
        });
        for case in cases(Collective::Allgatherv, size) {
            check(&ranks, &case, sum, 9);
        }
    }
}

#[test]
fn alltoall() {
    for (size, elements) in sizes().flat_map(|size| lengths(size, ELEMENTS).map(move |e| (size, e))) {
        for (case, in_place) in
            cases(Collective::Alltoall, size).iter().flat_map(|case| [(case, false), (case, true)])
        {
            let ranks = ranks(size, |rank| {
                let block = data(&send_shape(rank), elements);
                let recv = data(&recv_shape(rank), elements);
                let send = (!in_place).then_some(block);
                let member = member(rank, size, CollectiveCall::Alltoall { send, recv });
                (0..size).fold(member, |member, other| {
                    let leaving = values(rank, other, elements);
                    let member = match send {
                        Some(block) => member.sends(block.in_send().block(other), leaving),
                        None => member.holds(in_recv(recv).block(other), leaving),
                    };
                    member.expects(in_recv(recv).block(other), values(other, rank, elements))
                })
            });
            check(&ranks, case, sum, elements);
        }
    }
}

#[test]
fn a_large_direct_exchange_goes_in_batches() {
    let size = 130;
    let ranks = ranks(size, |rank| {
        let data = data(&shape(0), 1);
        let call = CollectiveCall::Alltoall { send: Some(data), recv: data };
        let member =
            Rank::new(0, CommView::intra(rank, size), call).ty(Ty::Send, shape(0)).ty(Ty::Recv, shape(0));
        (0..size).fold(member, |member, other| {
            member
                .sends(data.in_send().block(other), values(rank, other, 1))
                .expects(in_recv(data).block(other), values(other, rank, 1))
        })
    });
    check(&ranks, &Case::of(Algorithm::Direct), sum, 1);
}

/// Elements that one rank sends another.
fn traffic(from: u32, to: u32) -> u64 {
    u64::from((from * 3 + to * 5) % 4)
}

/// The same in both directions, for calls in place.
fn symmetric(from: u32, to: u32) -> u64 {
    u64::from((from * to + from + to) % 3)
}

#[test]
fn alltoallv() {
    for (size, wide) in sizes().flat_map(|size| [(size, false), (size, true)]) {
        for case in cases(Collective::Alltoallv, size) {
            let lists: Vec<(Lists, Lists)> = (0..size)
                .map(|rank| {
                    let out = (0..size).map(|other| traffic(rank, other)).collect();
                    let back = (0..size).map(|other| traffic(other, rank)).collect();
                    (
                        Lists::new(out, &send_shape(rank), wide),
                        Lists::new(back, &recv_shape(rank), rank % 2 == 1),
                    )
                })
                .collect();
            let ranks = ranks(size, |rank| {
                let (out, back) = &lists[rank as usize];
                let (send, recv) = (out.vector(wide), back.vector(wide));
                let member = member(rank, size, CollectiveCall::Alltoallv { send: Some(send), recv });
                exchanged(member, rank, size, send, recv)
            });
            check(&ranks, &case, sum, 10);
        }
    }
}

fn exchanged<'a>(member: Rank<'a>, rank: u32, size: u32, send: Vector, recv: Vector) -> Rank<'a> {
    (0..size).fold(member, |member, other| {
        member
            .sends(send.in_send(other), values(rank, other, traffic(rank, other)))
            .expects(recv.in_recv(other), values(other, rank, traffic(other, rank)))
    })
}

#[test]
fn alltoallw() {
    for (size, wide) in sizes().flat_map(|size| [(size, false), (size, true)]) {
        for case in cases(Collective::Alltoallw, size) {
            let lists: Vec<(Lists, Lists)> = (0..size)
                .map(|rank| {
                    let out = (0..size).map(|other| traffic(rank, other)).collect();
                    let back = (0..size).map(|other| traffic(other, rank)).collect();
                    (Lists::typed(out, rank, wide), Lists::typed(back, rank + 1, rank % 2 == 1))
                })
                .collect();
            let ranks = ranks(size, |rank| {
                let (out, back) = &lists[rank as usize];
                let (send, recv) = (out.typed_vector(wide), back.typed_vector(wide));
                let call = CollectiveCall::Alltoallw { send: Some(send), recv };
                let member =
                    (0..size).fold(Rank::new(0, CommView::intra(rank, size), call), |member, other| {
                        let (to, from) =
                            (out.shapes[other as usize].clone(), back.shapes[other as usize].clone());
                        member.ty(Ty::SendTo(other), to).ty(Ty::RecvFrom(other), from)
                    });
                exchanged(member, rank, size, send, recv)
            });
            check(&ranks, &case, sum, 11);
        }
    }
}

#[test]
fn alltoallv_and_w_in_place() {
    for (size, typed) in sizes().flat_map(|size| [(size, false), (size, true)]) {
        let lists: Vec<Lists> = (0..size)
            .map(|rank| {
                let both = (0..size).map(|other| symmetric(rank, other)).collect();
                if typed {
                    Lists::typed(both, rank, true)
                } else {
                    Lists::new(both, &recv_shape(rank), false)
                }
            })
            .collect();
        let ranks = ranks(size, |rank| {
            let list = &lists[rank as usize];
            let recv = if typed { list.typed_vector(true) } else { list.vector(false) };
            let call = match typed {
                true => CollectiveCall::Alltoallw { send: None, recv },
                false => CollectiveCall::Alltoallv { send: None, recv },
            };
            (0..size).fold(member(rank, size, call), |member, other| {
                let elements = symmetric(rank, other);
                member
                    .ty(Ty::RecvFrom(other), list.shapes[other as usize].clone())
                    .holds(recv.in_recv(other), values(rank, other, elements))
                    .expects(recv.in_recv(other), values(other, rank, elements))
            })
        });
        check(&ranks, &Case::table(), sum, 12);
    }
}
