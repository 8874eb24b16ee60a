//! What a person is told of a collective in which a rank waits: its root, and how much of what.

use super::port::Bindings;
use crate::core::wait::Waiting;
use tern_coll::{Collective, CollectiveCall, Root, TypedCount};
use tern_job::status_page::{NO_ROOT, ROOT_ELSEWHERE, ROOT_HERE};
use tern_mem::Basic;

/// Root and length of a call, as far as all ranks name the same. It is written in each call, so it is small.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    /// As the status page has it.
    root: i32,
    length: ToldLength,
    count: u64,
    /// Of an element.
    bytes: u64,
}

/// Whether the length is told, and whose type the elements have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ToldLength {
    Unknown,
    OfSend,
    OfRecv,
}

impl Told {
    /// Of a call without either.
    pub(super) const NOTHING: Told = Told { root: NO_ROOT, length: ToldLength::Unknown, count: 0, bytes: 0 };

    /// Nothing is known of the next call yet.
    #[inline]
    pub(super) fn forget(&mut self) {
        (self.root, self.length) = (NO_ROOT, ToldLength::Unknown);
    }

    /// Takes them from a call. What is not significant at this rank is left out, and so is what each rank may choose.
    #[inline]
    pub(super) fn learn(&mut self, call: &CollectiveCall) {
        match call {
            CollectiveCall::Bcast { data, root } | CollectiveCall::Reduce { data, root, .. } => {
                self.rooted(*root, data, ToldLength::OfRecv)
            }
            CollectiveCall::Gather { send: Some(data), root, .. } => {
                self.rooted(*root, data, ToldLength::OfSend)
            }
            CollectiveCall::Gather { recv: data, root, .. } => self.rooted(*root, data, ToldLength::OfRecv),
            CollectiveCall::Scatter { recv: Some(data), root, .. } => {
                self.rooted(*root, data, ToldLength::OfRecv)
            }
            CollectiveCall::Scatter { send: data, root, .. } => self.rooted(*root, data, ToldLength::OfSend),
            CollectiveCall::Gatherv { root, .. } | CollectiveCall::Scatterv { root, .. } => {
                self.root = number(*root)
            }
            CollectiveCall::Allgather { recv: data, .. }
            | CollectiveCall::Alltoall { recv: data, .. }
            | CollectiveCall::Allreduce { data, .. }
            | CollectiveCall::Scan { data, .. }
            | CollectiveCall::Exscan { data, .. }
            | CollectiveCall::ReduceScatterBlock { data, .. } => self.long(data, ToldLength::OfRecv),
            _ => {}
        }
    }

    /// At a rank that stands for a group, not all arguments count.
    #[inline]
    fn rooted(&mut self, root: Root, data: &TypedCount, length: ToldLength) {
        self.root = number(root);
        if matches!(root, Root::Rank(_)) {
            self.long(data, length);
        }
    }

    #[inline]
    fn long(&mut self, data: &TypedCount, length: ToldLength) {
        (self.length, self.count, self.bytes) = (length, data.count, data.layout.size);
    }
}

#[inline]
fn number(root: Root) -> i32 {
    match root {
        Root::Rank(rank) => rank as i32,
        Root::Here => ROOT_HERE,
        Root::Elsewhere => ROOT_ELSEWHERE,
    }
}

impl Bindings {
    /// In this call, for a person.
    #[cold]
    pub(super) fn waiting(&self) -> Waiting {
        let [send, recv] = [&self.send, &self.recv].map(|side| side.datatype.as_deref()?.basic());
        // What another call exchanges on its way is its own.
        let told = if is_collective(self.call) { self.told } else { Told::NOTHING };
        Waiting { number: self.number(), ..told.waiting(self.call, self.context(), send, recv) }
    }
}

impl Told {
    /// In this call, for a person; `send` and `recv` are the predefined types of its elements.
    #[cold]
    pub(super) fn waiting(
        self,
        call: &'static str,
        context: u64,
        send: Option<Basic>,
        recv: Option<Basic>,
    ) -> Waiting {
        let waiting = Waiting { root: self.root, ..Waiting::collective(call, context) };
        let basic = match self.length {
            ToldLength::Unknown => return waiting,
            ToldLength::OfSend => send,
            ToldLength::OfRecv => recv,
        };
        let bytes = Some(self.count.saturating_mul(self.bytes));
        Waiting { bytes, detail: elements(self.count, basic), ..waiting }
    }
}

/// Whether a call is a collective in any of its forms, by its name.
fn is_collective(call: &str) -> bool {
    let call = call.to_ascii_lowercase();
    Collective::ALL.iter().any(|collective| call.contains(collective.name()))
}

fn elements(count: u64, basic: Option<Basic>) -> String {
    let noun = if count == 1 { "element" } else { "elements" };
    match basic {
        Some(basic) => format!("{count} {noun} of {}", basic.name()),
        None => format!("{count} {noun} of a derived type"),
    }
}
