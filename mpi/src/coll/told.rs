//! What a person is told of a collective in which a rank waits: its root, and how much of what.

use super::port::Names;
use crate::wait::Waiting;
use tern_coll::{Call, Data, Root};
use tern_mem::Datatype;
use tern_runtime::board::{NO_ROOT, ROOT_ELSEWHERE, ROOT_HERE};

/// Root and length of a call, as far as all ranks name the same.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    root: Option<Root>,
    data: Option<Data>,
    /// The data have the type of the send buffer.
    sent: bool,
}

impl Told {
    /// Of a call without either.
    pub const NOTHING: Told = Told { root: None, data: None, sent: false };

    /// Those of a call. What is not significant at this rank is left out, and so is what each rank may choose.
    #[inline]
    pub fn of(call: &Call) -> Told {
        let told = |root, data, sent| Told { root, data, sent };
        match *call {
            Call::Bcast { data, root } | Call::Reduce { data, root, .. } => {
                told(Some(root), Some(data), false)
            }
            Call::Gather { send, recv, root } => told(Some(root), Some(send.unwrap_or(recv)), send.is_some()),
            Call::Scatter { send, recv, root } => {
                told(Some(root), Some(recv.unwrap_or(send)), recv.is_none())
            }
            Call::Gatherv { root, .. } | Call::Scatterv { root, .. } => told(Some(root), None, false),
            Call::Allgather { recv, .. } | Call::Alltoall { recv, .. } => told(None, Some(recv), false),
            Call::Allreduce { data, .. }
            | Call::Scan { data, .. }
            | Call::Exscan { data, .. }
            | Call::ReduceScatterBlock { data, .. } => told(None, Some(data), false),
            _ => Told::NOTHING,
        }
    }

    fn root(&self) -> i32 {
        match self.root {
            None => NO_ROOT,
            Some(Root::Rank(rank)) => rank as i32,
            Some(Root::Here) => ROOT_HERE,
            Some(Root::Elsewhere) => ROOT_ELSEWHERE,
        }
    }

    /// At a rank that stands for a group, not all arguments count.
    fn data(&self) -> Option<Data> {
        self.data.filter(|_| matches!(self.root, None | Some(Root::Rank(_))))
    }
}

impl Names {
    /// In this call, for a person.
    #[cold]
    pub fn waiting(&self) -> Waiting {
        let data = self.told.data();
        let side = if self.told.sent { &self.send } else { &self.recv };
        Waiting {
            root: self.told.root(),
            bytes: data.map(|data| data.bytes()),
            detail: data.map_or(String::new(), |data| elements(data.count, side.datatype.as_deref())),
            ..Waiting::collective(self.call, self.context())
        }
    }
}

fn elements(count: u64, datatype: Option<&Datatype>) -> String {
    let noun = if count == 1 { "element" } else { "elements" };
    match datatype.and_then(Datatype::basic) {
        Some(basic) => format!("{count} {noun} of {}", basic.name()),
        None => format!("{count} {noun} of a derived type"),
    }
}
