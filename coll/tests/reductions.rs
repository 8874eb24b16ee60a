//! Every algorithm that reduces, at all ranks, against the definition.

mod common;

use common::case::{Case, cases, lengths, roots, sizes};
use common::{Lists, Rank, brackets, check, compose, count_of, data, fold, in_recv, run, shape, sum, values};
use tern_coll::interp::{DatatypeShape, GuardedBuffer, ReduceFunction};
use tern_coll::{Collective, CollectiveCall, CommView, Query, Root, Ty, TypedCount};

const LENGTHS: [u64; 4] = [0, 1, 40, 5];

/// One way to make a call.
struct Way {
    size: u32,
    elements: u64,
    case: Case,
    commutative: bool,
    in_place: bool,
}

impl Way {
    /// Composition of maps unless the algorithm needs an operation that commutes.
    fn operation(&self) -> ReduceFunction {
        if self.commutative { sum } else { compose }
    }

    /// The type of the call; all ranks use the same.
    fn shape(&self) -> DatatypeShape {
        shape(self.size % 3)
    }

    fn data(&self) -> TypedCount {
        data(&self.shape(), self.elements)
    }
}

/// Every size, length and algorithm, with an operation that commutes and one that does not, in place and not.
fn for_each_way(collective: Collective, mut each: impl FnMut(Way)) {
    for (size, elements) in sizes().flat_map(|size| lengths(size, LENGTHS).map(move |e| (size, e))) {
        for case in cases(collective, size) {
            for (commutative, in_place) in [(false, false), (false, true), (true, false), (true, true)] {
                if case.suits(Query { commutative, ..Query::new(collective, 0, size) }) {
                    each(Way { size, elements, case: case.clone(), commutative, in_place });
                }
            }
        }
    }
}

/// A rank with its operand, in the send buffer or in place.
fn operand<'a>(rank: u32, way: &Way, call: CollectiveCall<'a>, in_place: bool, elements: u64) -> Rank<'a> {
    let (shape, own) = (way.shape(), values(rank, 0, elements));
    let span = data(&shape, elements).operand(in_place);
    let member = Rank::new(0, CommView::intra(rank, way.size), call).ty(Ty::Recv, shape);
    if in_place { member.holds(span, own) } else { member.sends(span, own) }
}

fn operands(ranks: std::ops::RangeInclusive<u32>, elements: u64) -> impl Iterator<Item = Vec<u8>> {
    ranks.map(move |rank| values(rank, 0, elements))
}

#[test]
fn reduce() {
    for_each_way(Collective::Reduce, |way| {
        for root in roots(way.size) {
            let result = fold(operands(0..=way.size - 1, way.elements), way.operation());
            let ranks: Vec<Rank> = (0..way.size)
                .map(|rank| {
                    let in_place = way.in_place && rank == root;
                    let member =
                        operand(rank, &way, reduce_call(&way, root, in_place), in_place, way.elements);
                    if rank == root { member.expects(in_recv(way.data()), result.clone()) } else { member }
                })
                .collect();
            check(&ranks, &way.case, way.operation(), 1);
        }
    });
}

fn reduce_call(way: &Way, root: u32, in_place: bool) -> CollectiveCall<'static> {
    CollectiveCall::Reduce {
        data: way.data(),
        in_place,
        commutative: way.commutative,
        root: Root::Rank(root),
    }
}

#[test]
fn allreduce() {
    for_each_way(Collective::Allreduce, |way| {
        let result = fold(operands(0..=way.size - 1, way.elements), way.operation());
        let ranks: Vec<Rank> = (0..way.size)
            .map(|rank| {
                operand(rank, &way, allreduce_call(&way), way.in_place, way.elements)
                    .expects(in_recv(way.data()), result.clone())
            })
            .collect();
        check(&ranks, &way.case, way.operation(), 2);
    });
}

fn allreduce_call(way: &Way) -> CollectiveCall<'static> {
    CollectiveCall::Allreduce { data: way.data(), in_place: way.in_place, commutative: way.commutative }
}

#[test]
fn reduce_scatter_block() {
    for_each_way(Collective::ReduceScatterBlock, |way| {
        let total = way.elements * u64::from(way.size);
        let result = fold(operands(0..=way.size - 1, total), way.operation());
        let (data, in_place, commutative) = (way.data(), way.in_place, way.commutative);
        let ranks: Vec<Rank> = (0..way.size)
            .map(|rank| {
                let call = CollectiveCall::ReduceScatterBlock { data, in_place, commutative };
                let block = block_of(&result, u64::from(rank) * way.elements, way.elements);
                settled(operand(rank, &way, call, in_place, total), data, block)
            })
            .collect();
        check_start(&ranks, &way);
    });
}

#[test]
fn reduce_scatter() {
    for_each_way(Collective::ReduceScatter, |way| {
        let (shape, in_place, commutative) = (way.shape(), way.in_place, way.commutative);
        let elements = |rank: u32| (way.elements * u64::from(rank % 3)).div_ceil(2);
        let lists = Lists::new((0..way.size).map(elements).collect(), &shape, false);
        let total = (0..way.size).map(elements).sum();
        let result = fold(operands(0..=way.size - 1, total), way.operation());
        let ranks: Vec<Rank> = (0..way.size)
            .map(|rank| {
                let counts = lists.counts(way.elements == 5);
                let call =
                    CollectiveCall::ReduceScatter { counts, layout: shape.layout(), in_place, commutative };
                let block = block_of(&result, (0..rank).map(elements).sum(), elements(rank));
                let data = data(&shape, elements(rank));
                settled(operand(rank, &way, call, in_place, total), data, block)
            })
            .collect();
        check_start(&ranks, &way);
    });
}

fn block_of(result: &[u8], first: u64, elements: u64) -> Vec<u8> {
    let byte = |element: u64| element as usize * common::ELEMENT;
    result[byte(first)..byte(first + elements)].to_vec()
}

/// The result of a reduce_scatter at the start of the receive buffer.
fn settled<'a>(member: Rank<'a>, data: TypedCount, block: Vec<u8>) -> Rank<'a> {
    member.expects(in_recv(data), block)
}

/// Compares only the results: in place, the rest of the receive buffer is not defined afterwards, but an algorithm
/// has no reason to touch it either, so all of it is compared.
fn check_start(ranks: &[Rank], way: &Way) {
    check(ranks, &way.case, way.operation(), 3);
}

#[test]
fn scan() {
    for_each_way(Collective::Scan, |way| {
        let (data, in_place) = (way.data(), way.in_place);
        let ranks: Vec<Rank> = (0..way.size)
            .map(|rank| {
                let result = fold(operands(0..=rank, way.elements), way.operation());
                operand(rank, &way, CollectiveCall::Scan { data, in_place }, in_place, way.elements)
                    .expects(in_recv(data), result)
            })
            .collect();
        check(&ranks, &way.case, way.operation(), 4);
    });
}

#[test]
fn exscan() {
    for_each_way(Collective::Exscan, |way| {
        let (data, in_place) = (way.data(), way.in_place);
        let ranks: Vec<Rank> = (0..way.size)
            .map(|rank| {
                let member =
                    operand(rank, &way, CollectiveCall::Exscan { data, in_place }, in_place, way.elements);
                if rank == 0 {
                    return member;
                }
                member.expects(in_recv(data), fold(operands(0..=rank - 1, way.elements), way.operation()))
            })
            .collect();
        check(&ranks, &way.case, way.operation(), 5);
    });
}

#[test]
fn reduce_has_the_same_bits_for_every_root_and_order_of_arrival() {
    for size in sizes() {
        for case in cases(Collective::Reduce, size) {
            let way = Way { size, elements: 3, case, commutative: true, in_place: false };
            let first = result_at(&way, 0, 1);
            for root in roots(size) {
                let result = result_at(&way, root, 2 + u64::from(root));
                assert!(result == first, "{:?}: {size} ranks, root {root}", way.case);
            }
        }
    }
}

/// What a root has after a reduction by an operation that shows how it was bracketed.
fn result_at(way: &Way, root: u32, seed: u64) -> GuardedBuffer {
    let ranks: Vec<Rank> = (0..way.size)
        .map(|rank| {
            let member = operand(rank, way, reduce_call(way, root, false), false, way.elements);
            member.expects(in_recv(way.data()), values(0, 0, way.elements))
        })
        .collect();
    run(&ranks, &way.case, brackets, seed).swap_remove(root as usize).recv
}

#[test]
fn allreduce_has_the_same_bits_everywhere() {
    for_each_way(Collective::Allreduce, |way| {
        let ranks: Vec<Rank> = (0..way.size)
            .map(|rank| {
                operand(rank, &way, allreduce_call(&way), way.in_place, way.elements)
                    .expects(in_recv(way.data()), values(0, 0, way.elements))
            })
            .collect();
        let parts = run(&ranks, &way.case, brackets, 6);
        let same = parts.iter().all(|part| part.recv == parts[0].recv);
        assert!(same, "{:?} on {} ranks", &way.case, way.size);
    });
}

#[test]
fn a_reduction_of_nothing_is_no_message() {
    let way = Way { size: 4, elements: 0, case: Case::table(), commutative: true, in_place: false };
    let parts = run(
        &[0, 1, 2, 3].map(|rank| operand(rank, &way, allreduce_call(&way), false, 0)),
        &Case::table(),
        sum,
        1,
    );
    assert!(parts.iter().all(|part| part.schedule.steps().is_empty()));
    assert_eq!(count_of(&way.shape(), 0), 0);
}
