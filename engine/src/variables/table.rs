//! The table itself.

use super::{Category, Other, Values, Variable};
use crate::settings::Rendezvous;

/// The variables that the library reads, by category.
pub const CATEGORIES: &[Category] = &[PROTOCOLS, FLOW_CONTROL, SHARED_MEMORY];

const PROTOCOLS: Category = Category {
    name: "protocols",
    description: "which protocol moves a message",
    variables: &[
        Variable {
            name: "TERN_EAGER_MAX",
            meaning: "Largest message in bytes that is sent at once, without asking the receiver; at most a cell.",
            values: Values::Number(
                |all| all.engine.eager_bytes_max as u64,
                |all, bytes| all.engine.eager_bytes_max = bytes as usize,
            ),
        },
        Variable {
            name: "TERN_GET_MIN",
            meaning: "Smallest message in bytes that is not sent at once where the receiver can get it from the sender's memory.",
            values: Values::Number(
                |all| all.engine.get_bytes_min as u64,
                |all, bytes| all.engine.get_bytes_min = bytes as usize,
            ),
        },
        Variable {
            name: "TERN_RENDEZVOUS",
            meaning: "How larger messages move: the best way, the receiver gets, the sender puts, both copy, or in fragments.",
            values: Values::Choice(
                &Rendezvous::WORDS,
                |all| all.engine.rendezvous as usize,
                |all, at| all.engine.rendezvous = Rendezvous::ALL[at],
            ),
        },
        Variable {
            name: "TERN_SHARE_MIN",
            meaning: "Smallest contiguous message in bytes that both sides copy together.",
            values: Values::Number(
                |all| all.engine.share_bytes_min as u64,
                |all, bytes| all.engine.share_bytes_min = bytes as usize,
            ),
        },
        Variable {
            name: "TERN_CHECK",
            meaning: "types: the type signatures of sender and receiver are compared when a message is matched.",
            values: Values::Set(
                &["types"],
                |all, _| all.engine.check_types,
                |all, _| all.engine.check_types = true,
            ),
        },
    ],
};

const FLOW_CONTROL: Category = Category {
    name: "flow-control",
    description: "how much may be under way before the receiver answers",
    variables: &[Variable {
        name: "TERN_CREDIT_BYTES",
        meaning: "Memory in bytes that a rank grants each peer for messages that come before their receive.",
        values: Values::Number(
            |all| all.engine.credit_bytes as u64,
            |all, bytes| all.engine.credit_bytes = bytes as usize,
        ),
    }],
};

const SHARED_MEMORY: Category = Category {
    name: "shared-memory",
    description: "the transport between ranks of one machine; the same on all ranks of a job",
    variables: &[
        Variable {
            name: "TERN_RINGS",
            meaning: "1: pairs that talk get a ring of their own; 0: all goes through the receiver's queue.",
            values: Values::Switch(|all| all.transport.rings, |all, on| all.transport.rings = on),
        },
        Variable {
            name: "TERN_RING_SLOTS",
            meaning: "Lines of 64 bytes in the ring of a pair; a power of two.",
            values: Values::Number(
                |all| all.transport.ring_lines.into(),
                |all, lines| all.transport.ring_lines = lines,
            ),
        },
        Variable {
            name: "TERN_CELLS",
            meaning: "Cells of a rank: messages too long for a ring that may be on their way from it at once.",
            values: Values::Number(
                |all| all.transport.cells.into(),
                |all, cells| all.transport.cells = cells,
            ),
        },
        Variable {
            name: "TERN_CELL_BYTES",
            meaning: "Bytes of a cell, and so the longest message that is sent without asking.",
            values: Values::Number(
                |all| all.transport.cell_bytes.into(),
                |all, bytes| all.transport.cell_bytes = bytes,
            ),
        },
        Variable {
            name: "TERN_CMA",
            meaning: "1: the kernel copies between processes (process_vm_readv) where it is allowed; 0: never.",
            values: Values::Switch(|all| all.transport.cma, |all, on| all.transport.cma = on),
        },
    ],
};

/// The variables that others read.
pub const OTHERS: &[Other] = &[
    Other {
        name: "TERN_TIMEOUT",
        reader: "mpirun",
        values: "seconds",
        default: "none",
        meaning: "mpirun says where each rank stands and ends the job after this time; --timeout comes first.",
    },
    Other {
        name: "TERN_JOB",
        reader: "the library",
        values: "written by mpirun",
        default: "none",
        meaning: "Tells a process which rank it is; not for users, except to unset it and run a program alone.",
    },
];
