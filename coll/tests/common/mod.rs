//! Cases for the interpreter: what every rank brings to a call, and what the standard says it has afterwards.
#![allow(dead_code, reason = "each test program uses its part")]

pub(crate) mod case;

use case::Case;
use tern_coll::interp::{
    self, DatatypeShape, GuardedBuffer, InterpretedProcess, ProcessPart, ReduceFunction, ScheduleFault,
};
use tern_coll::{
    Buf, CollectiveCall, CommView, NumberArray, Schedule, Span, Ty, TypeLayout, TypedCount, Vector,
    VectorTypes, build, build_with,
};

/// Bytes of one element of test data.
pub(crate) const ELEMENT: usize = 8;

/// What one rank brings to a call and expects of it.
pub(crate) struct Rank<'a> {
    pub group: u32,
    pub comm: CommView<'a>,
    pub call: CollectiveCall<'a>,
    pub types: Vec<(Ty, DatatypeShape)>,
    /// Contents of the send buffer.
    pub send: Vec<(Span, Vec<u8>)>,
    /// Contents of the receive buffer before the call.
    pub recv: Vec<(Span, Vec<u8>)>,
    /// Contents of the receive buffer after it; all else stays as it was.
    pub expect: Vec<(Span, Vec<u8>)>,
}

impl<'a> Rank<'a> {
    pub(crate) fn new(group: u32, comm: CommView<'a>, call: CollectiveCall<'a>) -> Rank<'a> {
        Rank { group, comm, call, types: vec![], send: vec![], recv: vec![], expect: vec![] }
    }

    pub(crate) fn ty(mut self, ty: Ty, shape: DatatypeShape) -> Self {
        self.types.push((ty, shape));
        self
    }

    pub(crate) fn sends(mut self, span: Span, data: Vec<u8>) -> Self {
        self.send.push((span, data));
        self
    }

    pub(crate) fn holds(mut self, span: Span, data: Vec<u8>) -> Self {
        self.recv.push((span, data));
        self
    }

    pub(crate) fn expects(mut self, span: Span, data: Vec<u8>) -> Self {
        self.expect.push((span, data));
        self
    }

    fn shape(&self, ty: Ty) -> &DatatypeShape {
        &self.types.iter().find(|(known, _)| *known == ty).expect("a type of the call").1
    }

    fn memory(&self, contents: &[&[(Span, Vec<u8>)]]) -> GuardedBuffer {
        contents.concat().iter().fold(GuardedBuffer::spanning(0, 0), |memory, (span, _)| {
            memory.and(&GuardedBuffer::for_elements(self.shape(span.ty), &[(span.offset, span.count)]))
        })
    }

    fn fill(&self, mut memory: GuardedBuffer, contents: &[(Span, Vec<u8>)]) -> GuardedBuffer {
        for (span, data) in contents {
            memory.set(self.shape(span.ty), &span.slice(), data);
        }
        memory
    }

    fn part(&self, case: &Case) -> ProcessPart {
        let mut schedule = Schedule::new();
        let comm = case.place(self.comm);
        match case.choice {
            Some(choice) => build_with(choice, &comm, &self.call, &mut schedule),
            None => build(&comm, &self.call, &[], &mut schedule),
        }
        ProcessPart {
            process: InterpretedProcess { group: self.group, rank: self.comm.rank },
            schedule,
            send: self.fill(self.memory(&[&self.send]), &self.send),
            recv: self.fill(self.memory(&[&self.recv, &self.expect]), &self.recv),
            types: self.types.iter().cloned().collect(),
        }
    }
}

/// Runs a call on all its ranks and compares every byte with the expectation.
pub(crate) fn check(ranks: &[Rank], case: &Case, operation: ReduceFunction, seed: u64) {
    let parts = run(ranks, case, operation, seed);
    for (rank, part) in ranks.iter().zip(&parts) {
        let before = rank.fill(rank.memory(&[&rank.recv, &rank.expect]), &rank.recv);
        let expected = rank.fill(before, &rank.expect);
        assert!(part.recv == expected, "{}\n{:?}\n{expected:?}", describe(rank, case), part.recv);
    }
}

/// Runs a call on all its ranks.
pub(crate) fn run(ranks: &[Rank], case: &Case, operation: ReduceFunction, seed: u64) -> Vec<ProcessPart> {
    let mut parts = parts(ranks, case);
    if let Err(fault) = interp::run(&mut parts, operation, seed) {
        panic!("{}\n{fault:?}{}", describe(&ranks[0], case), steps(&fault, &parts));
    }
    parts
}

/// What each rank does and holds, before the call.
pub(crate) fn parts(ranks: &[Rank], case: &Case) -> Vec<ProcessPart> {
    ranks.iter().map(|rank| rank.part(case)).collect()
}

fn describe(rank: &Rank, case: &Case) -> String {
    format!("{case:?} {:?} {:?}", rank.comm, rank.call)
}

fn steps(fault: &ScheduleFault, parts: &[ProcessPart]) -> String {
    let process = match fault {
        ScheduleFault::Outside(process, _)
        | ScheduleFault::Race(process, _)
        | ScheduleFault::Unknown(process, _) => process,
        ScheduleFault::Mismatch(process, ..) | ScheduleFault::Mixed(process, _) => process,
        ScheduleFault::Deadlock(_) => return String::new(),
    };
    let part = parts.iter().find(|part| part.process == *process).expect("one of the processes");
    format!("\nsteps of {process}: {:#?}", part.schedule.steps())
}

/// One of four datatypes: plain; with gaps and a lower bound; out of order with a negative lower bound; and
/// plain of half an element.
pub(crate) fn shape(index: u32) -> DatatypeShape {
    let (pieces, extent) = match index % 4 {
        0 => (vec![(0, 8)], 8),
        1 => (vec![(4, 4), (12, 4)], 20),
        2 => (vec![(4, 4), (-4, 4)], 16),
        _ => (vec![(0, 4)], 4),
    };
    DatatypeShape { pieces, extent }
}

/// How many of a type hold this many elements of test data.
pub(crate) fn count_of(shape: &DatatypeShape, elements: u64) -> u64 {
    elements * (ELEMENT / shape.size()) as u64
}

/// This many elements of test data in a type.
pub(crate) fn data(shape: &DatatypeShape, elements: u64) -> TypedCount {
    TypedCount::new(count_of(shape, elements), shape.layout())
}

/// Test data: different for every source, label and position.
pub(crate) fn values(source: u32, label: u32, elements: u64) -> Vec<u8> {
    let word = |index: u64| {
        let mixed = (u64::from(source) << 40 | u64::from(label) << 20 | index) + 1;
        mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ mixed.rotate_left(23)
    };
    (0..elements).flat_map(|index| word(index).to_le_bytes()).collect()
}

/// Counts and displacements of a v or w call, in both widths.
pub(crate) struct Lists {
    counts: Vec<i64>,
    narrow: (Vec<i32>, Vec<i32>),
    addresses: Vec<isize>,
    layouts: Vec<TypeLayout>,
    pub shapes: Vec<DatatypeShape>,
    elements: Vec<u64>,
}

impl Lists {
    /// Blocks of these elements, of one type; apart from each other, the last first if `reversed`.
    pub(crate) fn new(elements: Vec<u64>, shape: &DatatypeShape, reversed: bool) -> Lists {
        let shapes = vec![shape.clone(); elements.len()];
        Lists::build(elements, shapes, |_| 1, reversed)
    }

    /// The same with a type for each block, displacements in bytes.
    pub(crate) fn typed(elements: Vec<u64>, first_shape: u32, reversed: bool) -> Lists {
        let shapes: Vec<DatatypeShape> =
            (0..elements.len() as u32).map(|index| shape(first_shape + index)).collect();
        Lists::build(elements, shapes, |_| 24, reversed)
    }

    fn build(
        elements: Vec<u64>,
        shapes: Vec<DatatypeShape>,
        unit: impl Fn(usize) -> i64,
        reversed: bool,
    ) -> Lists {
        let counts: Vec<i64> =
            elements.iter().zip(&shapes).map(|(elements, shape)| count_of(shape, *elements) as i64).collect();
        let stride = counts.iter().max().copied().unwrap_or(0) + 2;
        let last = counts.len() as i64 - 1;
        let place = |index: i64| if reversed { last - index - 1 } else { index };
        let displs: Vec<i64> = (0..=last).map(|index| place(index) * stride * unit(index as usize)).collect();
        let narrow = |numbers: &[i64]| numbers.iter().map(|number| *number as i32).collect();
        let layouts = shapes.iter().map(DatatypeShape::layout).collect();
        let addresses = displs.iter().map(|displ| *displ as isize).collect();
        Lists { narrow: (narrow(&counts), narrow(&displs)), counts, addresses, layouts, shapes, elements }
    }

    pub(crate) fn counts(&self, wide: bool) -> NumberArray<'_> {
        if wide { NumberArray::I64(&self.counts) } else { NumberArray::I32(&self.narrow.0) }
    }

    fn displs(&self, wide: bool) -> NumberArray<'_> {
        if wide { NumberArray::Aint(&self.addresses) } else { NumberArray::I32(&self.narrow.1) }
    }

    pub(crate) fn vector(&self, wide: bool) -> Vector<'_> {
        let layout = self.layouts.first().copied().unwrap_or_default();
        Vector { counts: self.counts(wide), displs: self.displs(wide), types: VectorTypes::One(layout) }
    }

    pub(crate) fn typed_vector(&self, wide: bool) -> Vector<'_> {
        let types = VectorTypes::Each(&self.layouts);
        Vector { counts: self.counts(wide), displs: self.displs(wide), types }
    }

    pub(crate) fn elements(&self, index: u32) -> u64 {
        self.elements[index as usize]
    }
}

/// Two 32-bit words a and b as x → a·x + b, composed: associative, and not commutative.
pub(crate) fn compose(left: &[u8], right: &mut [u8]) {
    let word = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let (a, b) = (word(left, 0), word(left, 4));
    let (c, d) = (word(right, 0), word(right, 4));
    right[..4].copy_from_slice(&a.wrapping_mul(c).to_le_bytes());
    right[4..].copy_from_slice(&a.wrapping_mul(d).wrapping_add(b).to_le_bytes());
}

/// 64-bit sum: associative and commutative.
pub(crate) fn sum(left: &[u8], right: &mut [u8]) {
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
    let sum = word(left).wrapping_add(word(right));
    right.copy_from_slice(&sum.to_le_bytes());
}

/// Neither associative nor commutative: the result tells how it was bracketed.
pub(crate) fn brackets(left: &[u8], right: &mut [u8]) {
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
    let mixed =
        word(left).wrapping_mul(0x1000_0000_01B3).rotate_left(17) ^ word(right).wrapping_mul(0x85EB_CA77);
    right.copy_from_slice(&mixed.to_le_bytes());
}

/// The operands combined in order, as the standard defines reductions.
pub(crate) fn fold(operands: impl IntoIterator<Item = Vec<u8>>, operation: ReduceFunction) -> Vec<u8> {
    let combined = operands.into_iter().reduce(|left, mut right| {
        let pairs = left.chunks(ELEMENT).zip(right.chunks_mut(ELEMENT));
        pairs.for_each(|(left, right)| operation(left, right));
        right
    });
    combined.expect("at least one operand")
}

/// A block in the receive buffer, with its type.
pub(crate) fn in_recv(data: TypedCount) -> Span {
    Span::new(Buf::Recv, data.count, Ty::Recv, data.layout)
}
