//! What a rank tells about its collective call, so that the others can compare it with theirs.

use crate::coll::operation::Operation;
use crate::comm::agree::{number, record};
use std::ffi::c_int;
use std::fmt;
use tern_abi::error_class_name;
use tern_coll::{CollectiveCall, CommView, NumberArray, Root, TypedCount, Vector, VectorTypes};
use tern_mem::op::PredefinedOp;
use tern_mem::{Basic, Datatype};

/// The longest name of a collective call is that of `MPI_Reduce_scatter_block_init`.
const NAME_BYTES: usize = 32;
const NAME_WORDS: usize = NAME_BYTES / 8;
const AMOUNT_WORDS: usize = 3;
/// Of what a call says of a topology, a grid of four dimensions fits; of the rest, its beginning.
const SAID_BYTES: usize = 64;
const SAID_WORDS: usize = SAID_BYTES / 8;
const WORDS: usize = 1 + NAME_WORDS + 2 + 2 * AMOUNT_WORDS + 2 + SAID_WORDS;

/// One rank's call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct CallRecord {
    /// Whether the call was made.
    pub state: CallState,
    name: [u8; NAME_BYTES],
    /// The root that it names, if it has one.
    pub root: Option<Root>,
    /// The operation, if it reduces.
    pub operation: Option<Code>,
    /// What goes from this rank to each other, or into the reduction.
    pub send: Option<Amount>,
    /// What comes to this rank from each other, or out of the reduction.
    pub recv: Option<Amount>,
    /// A hash of the bytes per rank, where every rank has to name all of them.
    pub counts: Option<u64>,
    /// A hash of the topology that the call makes, where all ranks have to name the same.
    pub topology: Option<u64>,
    /// The topology for a person: text, in words of the record, that ends in zeros.
    said: [u64; SAID_WORDS],
}

/// Whether a rank's call was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum CallState {
    /// Nothing is known of this rank: its record would have come by one that refused its own call.
    #[default]
    Unknown,
    /// It was.
    Made,
    /// Its arguments were refused, with this error class.
    Refused(c_int),
}

/// An operation as ranks compare it: handles of operations that the program made differ from rank to rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Code {
    /// A predefined one.
    Predefined(PredefinedOp),
    /// A function of the program's; whether it commutes.
    User(bool),
}

/// How much of what.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Amount {
    /// Packed bytes.
    pub bytes: u64,
    /// The hash of the type signature, 0 if it fits any.
    pub signature: u64,
    /// The basic type, if it is one.
    basic: Option<Basic>,
}

impl Amount {
    /// So many elements of `datatype`.
    pub(crate) fn of(data: TypedCount, datatype: Option<&Datatype>) -> Self {
        let basic = datatype.and_then(Datatype::uniform);
        // What may be received as anything is not compared (section 3.3.1).
        let any = matches!(basic, Some(Basic::Packed | Basic::Byte));
        let signature = datatype.filter(|_| !any).map_or(0, |datatype| datatype.signature(data.count));
        Amount { bytes: data.bytes(), signature, basic }
    }
}

/// The datatypes and the operation of a call being prepared, beside its [`CollectiveCall`].
#[derive(Clone, Copy)]
pub(crate) struct Meaning<'a> {
    /// The type of the send buffer.
    pub send: Option<&'a Datatype>,
    /// The type of the receive buffer, and that of a reduction.
    pub recv: Option<&'a Datatype>,
    /// The operation.
    pub operation: Option<Operation>,
}

impl CallRecord {
    /// Bytes of a record on its way.
    pub(crate) const BYTES: usize = WORDS * 8;

    /// A call of which only the name counts.
    pub(crate) fn named(call: &str) -> Self {
        let mut name = [0; NAME_BYTES];
        let len = call.len().min(NAME_BYTES);
        name[..len].copy_from_slice(&call.as_bytes()[..len]);
        CallRecord { state: CallState::Made, name, ..CallRecord::default() }
    }

    /// What has to agree between the ranks of a call; what the standard lets each rank choose is left out, and so is
    /// what only two ranks have to agree on (the counts of the v and w calls): messages are measured anyway.
    pub(crate) fn fill(&mut self, comm: &CommView, call: &CollectiveCall, meaning: Meaning) {
        let sends = |data: TypedCount| Some(Amount::of(data, meaning.send));
        let recvs = |data: TypedCount| Some(Amount::of(data, meaning.recv));
        self.root = call_root(call);
        self.operation = meaning.operation.map(code);
        match *call {
            CollectiveCall::Bcast { data, root } if is_root(comm, root) => self.send = recvs(data),
            CollectiveCall::Bcast { data, root } if root != Root::Elsewhere => self.recv = recvs(data),
            CollectiveCall::Gather { send, recv, root } => {
                self.send = send.filter(|_| is_leaf(root)).and_then(sends);
                self.recv = is_root(comm, root).then_some(recv).and_then(recvs);
            }
            CollectiveCall::Scatter { send, recv, root } => {
                self.send = is_root(comm, root).then_some(send).and_then(sends);
                self.recv = recv.filter(|_| is_leaf(root)).and_then(recvs);
            }
            CollectiveCall::Allgather { send, recv } | CollectiveCall::Alltoall { send, recv } => {
                (self.send, self.recv) = (send.and_then(sends), recvs(recv));
            }
            CollectiveCall::NeighborAllgather { around, send, recv }
            | CollectiveCall::NeighborAlltoall { around, send, recv } => {
                // Who has no neighbor on a side may say anything there.
                self.send = (!around.destinations.is_empty()).then_some(send).and_then(sends);
                self.recv = (!around.sources.is_empty()).then_some(recv).and_then(recvs);
            }
            CollectiveCall::Allgatherv { recv, .. } => {
                if let VectorTypes::One(layout) = recv.types {
                    self.recv = recvs(TypedCount::new(recv.counts.sum(), layout));
                }
                self.counts = Some(hash(blocks_of(&recv)));
            }
            CollectiveCall::Reduce { data, root, .. } => {
                self.send = is_leaf(root).then_some(data).and_then(recvs);
                self.recv = is_root(comm, root).then_some(data).and_then(recvs);
            }
            CollectiveCall::Allreduce { data, .. }
            | CollectiveCall::Scan { data, .. }
            | CollectiveCall::Exscan { data, .. } => {
                self.reduces(comm, recvs(data));
            }
            CollectiveCall::ReduceScatterBlock { data, .. } => {
                let all = data.count.saturating_mul(u64::from(comm.size));
                self.reduces(comm, recvs(TypedCount::new(all, data.layout)));
            }
            CollectiveCall::ReduceScatter { counts, layout, .. } => {
                self.reduces(comm, recvs(TypedCount::new(counts.sum(), layout)));
                self.counts = Some(hash(numbers_of(&counts).map(|count| count.saturating_mul(layout.size))));
            }
            _ => {}
        }
    }

    /// The topology that the call makes: all that must be alike, and how to say it, of which the beginning is told.
    pub(crate) fn names_topology(&mut self, words: impl Iterator<Item = u64>, said: &str) {
        const CUT: &str = "\u{2026}";
        let mut bytes = [0; SAID_BYTES];
        let (room, end) =
            if said.len() <= SAID_BYTES { (said.len(), "") } else { (SAID_BYTES - CUT.len(), CUT) };
        let shown = (0..=room).rev().find(|&at| said.is_char_boundary(at)).unwrap_or(0);
        bytes[..shown].copy_from_slice(&said.as_bytes()[..shown]);
        bytes[shown..shown + end.len()].copy_from_slice(end.as_bytes());
        self.topology = Some(hash(words));
        self.said = std::array::from_fn(|at| number(&bytes, at * 8));
    }

    fn reduces(&mut self, comm: &CommView, amount: Option<Amount>) {
        self.send = amount;
        // Between groups, what one combines is what the other receives.
        self.recv = amount.filter(|_| comm.remote.is_some());
    }

    /// The name of the call.
    pub(crate) fn call(&self) -> String {
        text(&self.name)
    }

    /// Whether two ranks make the same call.
    pub(crate) fn same_call(&self, other: &CallRecord) -> bool {
        self.name == other.name
    }

    /// As bytes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut words = vec![self.state.word()];
        words.extend((0..NAME_WORDS).map(|at| number(&self.name, at * 8)));
        words.extend([root_word(self.root), self.operation.map_or(0, Code::word)]);
        words.extend(amount_words(self.send).into_iter().chain(amount_words(self.recv)));
        words.extend([self.counts.unwrap_or(0), self.topology.unwrap_or(0)]);
        words.extend(self.said);
        record(&words)
    }

    /// Of bytes that came from another rank; what makes no sense is taken for nothing.
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let word = |at: usize| number(bytes, at * 8);
        let mut name = [0; NAME_BYTES];
        if let Some(told) = bytes.get(8..8 + NAME_BYTES) {
            name.copy_from_slice(told);
        }
        let amount = |at: usize| read_amount([word(at), word(at + 1), word(at + 2)]);
        let rest = 1 + NAME_WORDS;
        let hashes = rest + 2 + 2 * AMOUNT_WORDS;
        let hash = |at: usize| Some(word(at)).filter(|&hash| hash != 0);
        CallRecord {
            state: CallState::read(word(0)),
            name,
            root: read_root(word(rest)),
            operation: Code::read(word(rest + 1)),
            send: amount(rest + 2),
            recv: amount(rest + 2 + AMOUNT_WORDS),
            counts: hash(hashes),
            topology: hash(hashes + 1),
            said: std::array::from_fn(|at| word(hashes + 2 + at)),
        }
    }
}

/// What bytes say up to the first zero.
fn text(bytes: &[u8]) -> String {
    let len = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..len]).into_owned()
}

fn call_root(call: &CollectiveCall) -> Option<Root> {
    match *call {
        CollectiveCall::Bcast { root, .. }
        | CollectiveCall::Gather { root, .. }
        | CollectiveCall::Gatherv { root, .. }
        | CollectiveCall::Scatter { root, .. }
        | CollectiveCall::Scatterv { root, .. }
        | CollectiveCall::Reduce { root, .. } => Some(root),
        _ => None,
    }
}

fn is_root(comm: &CommView, root: Root) -> bool {
    match root {
        Root::Rank(rank) => comm.remote.is_none() && rank == comm.rank,
        Root::Here => true,
        Root::Elsewhere => false,
    }
}

/// On an intracommunicator the root is a leaf too.
fn is_leaf(root: Root) -> bool {
    matches!(root, Root::Rank(_))
}

fn code(operation: Operation) -> Code {
    match operation {
        Operation::Predefined(op, _) => Code::Predefined(op),
        Operation::User { commutative, .. } => Code::User(commutative),
    }
}

fn blocks_of(vector: &Vector) -> impl Iterator<Item = u64> {
    (0..vector.counts.len() as u32).map(|rank| vector.in_recv(rank).bytes())
}

fn numbers_of(numbers: &NumberArray) -> impl Iterator<Item = u64> {
    (0..numbers.len()).map(|at| numbers.count(at))
}

/// FNV-1a over words; never 0, which stands for none.
fn hash(words: impl Iterator<Item = u64>) -> u64 {
    let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29);
    words.fold(0xcbf2_9ce4_8422_2325, mix).max(1)
}

impl CallState {
    fn word(self) -> u64 {
        match self {
            CallState::Unknown => 0,
            CallState::Made => 1,
            CallState::Refused(class) => 2 | (class as u64) << 32,
        }
    }

    fn read(word: u64) -> Self {
        match word as u32 {
            1 => CallState::Made,
            2 => CallState::Refused((word >> 32) as c_int),
            _ => CallState::Unknown,
        }
    }
}

/// What no handle of a predefined operation is.
const USER_OPERATION: u64 = 1 << 32;

impl Code {
    /// A number that stands for it on all ranks.
    pub(crate) fn word(self) -> u64 {
        match self {
            Code::Predefined(op) => u64::from(op.handle_value()),
            Code::User(commutative) => USER_OPERATION | u64::from(commutative),
        }
    }

    fn read(word: u64) -> Option<Self> {
        match word & USER_OPERATION {
            0 => PredefinedOp::from_handle(word as usize).map(Code::Predefined),
            _ => Some(Code::User(word & 1 != 0)),
        }
    }
}

fn root_word(root: Option<Root>) -> u64 {
    match root {
        None => 0,
        Some(Root::Rank(rank)) => 1 | u64::from(rank) << 32,
        Some(Root::Here) => 2,
        Some(Root::Elsewhere) => 3,
    }
}

fn read_root(word: u64) -> Option<Root> {
    match word as u32 {
        1 => Some(Root::Rank((word >> 32) as u32)),
        2 => Some(Root::Here),
        3 => Some(Root::Elsewhere),
        _ => None,
    }
}

fn amount_words(amount: Option<Amount>) -> [u64; AMOUNT_WORDS] {
    let basic = |amount: Amount| amount.basic.map_or(0, |basic| u64::from(basic.handle_value()));
    amount.map_or([0; AMOUNT_WORDS], |amount| [1 | basic(amount) << 32, amount.bytes, amount.signature])
}

fn read_amount([first, bytes, signature]: [u64; AMOUNT_WORDS]) -> Option<Amount> {
    let basic = Basic::from_handle((first >> 32) as usize);
    (first & 1 != 0).then_some(Amount { bytes, signature, basic })
}

/// The call for a person: `MPI_Bcast(sends 8 bytes of MPI_INT, root 0)`.
impl fmt::Display for CallRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = Vec::new();
        match (self.send, self.recv) {
            (Some(send), Some(recv)) if send == recv => words.push(send.to_string()),
            (Some(amount), None) if self.root.is_none() => words.push(amount.to_string()),
            (send, recv) => {
                words.extend(send.map(|amount| format!("sends {amount}")));
                words.extend(recv.map(|amount| format!("receives {amount}")));
            }
        }
        words.extend(self.operation.map(|operation| operation.to_string()));
        words.extend(self.root.map(|root| match root {
            Root::Rank(rank) => format!("root {rank}"),
            Root::Here => "root MPI_ROOT".into(),
            Root::Elsewhere => "root MPI_PROC_NULL".into(),
        }));
        words.extend(self.topology.map(|_| text(&record(&self.said))));
        write!(f, "{}({})", self.call(), words.join(", "))?;
        match self.state {
            CallState::Refused(class) => write!(f, " with {}", error_class_name(class).unwrap_or("an error")),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.bytes)?;
        self.basic.map_or(Ok(()), |basic| write!(f, " of {}", basic.name()))
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Code::Predefined(op) => write!(f, "{op}"),
            Code::User(true) => f.write_str("a commutative operation of the program's"),
            Code::User(false) => f.write_str("a non-commutative operation of the program's"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tern_coll::TypeLayout;

    const INT: TypeLayout = TypeLayout { size: 4, extent: 4, contiguous: true };
    const NOTHING: Meaning = Meaning { send: None, recv: None, operation: None };

    fn filled(comm: CommView, call: &CollectiveCall) -> CallRecord {
        let mut record = CallRecord::named("MPI_Any");
        record.fill(&comm, call, NOTHING);
        record
    }

    fn bytes(amount: Option<Amount>) -> Option<u64> {
        amount.map(|amount| amount.bytes)
    }

    #[test]
    fn a_record_reads_what_it_writes() {
        let amount = Amount { bytes: 12, signature: 99, basic: Basic::from_handle(0x208) };
        let mut record = CallRecord::named("MPI_Reduce_scatter_block_init");
        record.root = Some(Root::Rank(7));
        record.operation = Some(Code::User(true));
        (record.send, record.counts) = (Some(amount), Some(5));
        assert_eq!(CallRecord::read(&record.bytes()), record);
        assert_eq!(record.bytes().len(), CallRecord::BYTES);
        assert_eq!(record.call(), "MPI_Reduce_scatter_block_init");
        let refused =
            CallRecord { state: CallState::Refused(2), root: Some(Root::Here), ..CallRecord::named("MPI_X") };
        assert_eq!(CallRecord::read(&refused.bytes()), refused);
    }

    #[test]
    fn a_topology_is_told_as_far_as_there_is_room() {
        let told = |said: &str| {
            let mut record = CallRecord::named("MPI_Cart_create");
            record.names_topology([2, 3].into_iter(), said);
            let read = CallRecord::read(&record.bytes());
            assert_eq!(read, record);
            read.to_string()
        };
        assert_eq!(told("dims [2, 3]"), "MPI_Cart_create(dims [2, 3])");
        let (fits, long) = ("x".repeat(SAID_BYTES), "x".repeat(SAID_BYTES + 1));
        assert_eq!(told(&fits), format!("MPI_Cart_create({fits})"));
        assert_eq!(told(&long), format!("MPI_Cart_create({}\u{2026})", "x".repeat(SAID_BYTES - 3)));
        let hash = |words: [u64; 2]| {
            let mut record = CallRecord::default();
            record.names_topology(words.into_iter(), "");
            record.topology
        };
        assert!(hash([2, 3]) != hash([3, 2]) && hash([2, 3]) == hash([2, 3]));
    }

    #[test]
    fn any_bytes_are_a_record() {
        for value in [0, 0x5a, 0xff] {
            let record = CallRecord::read(&[value; CallRecord::BYTES]);
            assert!(!record.to_string().is_empty());
        }
        assert_eq!(CallRecord::read(&[]), CallRecord::default());
    }

    #[test]
    fn only_what_is_significant_at_a_rank_is_told() {
        let (send, recv) = (TypedCount::new(1, INT), TypedCount::new(2, INT));
        let gather = CollectiveCall::Gather { send: Some(send), recv, root: Root::Rank(1) };
        let leaf = filled(CommView::intra(0, 3), &gather);
        assert_eq!((bytes(leaf.send), bytes(leaf.recv)), (Some(4), None));
        let root = filled(CommView::intra(1, 3), &gather);
        assert_eq!((bytes(root.send), bytes(root.recv)), (Some(4), Some(8)));
        let in_place = CollectiveCall::Gather { send: None, recv, root: Root::Rank(1) };
        assert_eq!(bytes(filled(CommView::intra(1, 3), &in_place).send), None);
        let idle = CollectiveCall::Bcast { data: send, root: Root::Elsewhere };
        assert_eq!(filled(CommView::inter(0, 1, 2), &idle).recv, None);
    }

    #[test]
    fn counts_of_all_ranks_are_compared_by_their_bytes() {
        let scatter = |counts: &[i32], size: u64| {
            let layout = TypeLayout { size, extent: size as i64, contiguous: true };
            let counts = NumberArray::I32(counts);
            filled(
                CommView::intra(0, 2),
                &CollectiveCall::ReduceScatter { counts, layout, in_place: false, commutative: true },
            )
            .counts
        };
        assert_eq!(scatter(&[1, 2], 8), scatter(&[2, 4], 4));
        assert_ne!(scatter(&[1, 2], 8), scatter(&[2, 1], 8));
    }
}
