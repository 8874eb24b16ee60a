//! The control variables: Tern's settings, as the environment gave them to this process.

use tern_abi::{MPI_CHAR, MPI_COUNT, MPI_Datatype, MPI_INT};

use crate::settings::Environment;

/// What values a variable takes.
pub enum Values {
    /// A number of bytes or pieces.
    Number(fn(&Environment) -> i64),
    /// One of these words.
    Choice(&'static [&'static str], fn(&Environment) -> usize),
    /// Words, separated by commas.
    Text(fn(&Environment) -> &'static str),
}

/// One control variable.
pub struct Variable {
    /// The name of the environment variable.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub description: &'static str,
    /// What values it takes.
    pub values: Values,
}

/// Variables that belong together.
pub struct Category {
    /// Its name.
    pub name: &'static str,
    /// What its variables are about.
    pub description: &'static str,
    /// Its variables.
    pub variables: &'static [Variable],
}

impl Variable {
    /// The type of the value in a caller's buffer.
    pub fn datatype(&self) -> MPI_Datatype {
        match self.values {
            Values::Number(_) => MPI_COUNT,
            Values::Choice(..) => MPI_INT,
            Values::Text(_) => MPI_CHAR,
        }
    }
}

/// The settings in effect. What cannot be understood stops `MPI_Init`; here it leaves the defaults.
pub fn settings() -> Environment {
    Environment::read(|name| std::env::var(name).ok()).unwrap_or_default()
}

/// All variables, in the order of their indices.
pub fn variables() -> impl Iterator<Item = &'static Variable> {
    CATEGORIES.iter().flat_map(|category| category.variables)
}

/// Indices of a category's variables.
pub fn indices_of(category: usize) -> std::ops::Range<usize> {
    let start = CATEGORIES[..category].iter().map(|before| before.variables.len()).sum();
    start..start + CATEGORIES[category].variables.len()
}

/// The transport's own limit applies too.
fn eager_bytes_max(all: &Environment) -> i64 {
    all.engine.eager_bytes_max.min(all.transport.cell_bytes as usize) as i64
}

/// The variables by category.
pub const CATEGORIES: &[Category] = &[
    Category {
        name: "protocols",
        description: "which protocol moves a message",
        variables: &[
            Variable {
                name: "TERN_EAGER_MAX",
                description: "Largest message in bytes that is sent at once, without asking the receiver.",
                values: Values::Number(eager_bytes_max),
            },
            Variable {
                name: "TERN_RENDEZVOUS",
                description: "How larger messages move: the receiver gets, the sender puts, both copy, or in fragments.",
                values: Values::Choice(&["auto", "get", "put", "both", "stream"], |all| {
                    all.engine.rendezvous as usize
                }),
            },
            Variable {
                name: "TERN_SHARE_MIN",
                description: "Smallest contiguous message in bytes that both sides copy together.",
                values: Values::Number(|all| all.engine.share_bytes_min as i64),
            },
            Variable {
                name: "TERN_CHECK",
                description: "'types' compares the type signatures of sender and receiver at each match.",
                values: Values::Text(|all| if all.engine.check_types { "types" } else { "" }),
            },
        ],
    },
    Category {
        name: "flow-control",
        description: "how much may be under way before the receiver answers",
        variables: &[Variable {
            name: "TERN_CREDIT_BYTES",
            description: "Early-arrival memory in bytes that a rank grants each peer.",
            values: Values::Number(|all| all.engine.credit_bytes as i64),
        }],
    },
    Category {
        name: "shared-memory",
        description: "the transport between ranks of one machine",
        variables: &[
            Variable {
                name: "TERN_RINGS",
                description: "1: pairs that talk get a ring of their own; 0: all goes through the receiver's queue.",
                values: Values::Number(|all| all.transport.rings.into()),
            },
            Variable {
                name: "TERN_RING_SLOTS",
                description: "Lines of 64 bytes in the ring of a pair.",
                values: Values::Number(|all| all.transport.ring_lines.into()),
            },
            Variable {
                name: "TERN_CELLS",
                description: "Cells of a rank for messages longer than a ring's line.",
                values: Values::Number(|all| all.transport.cells.into()),
            },
            Variable {
                name: "TERN_CELL_BYTES",
                description: "Bytes of a cell, and so the longest eager message.",
                values: Values::Number(|all| all.transport.cell_bytes.into()),
            },
            Variable {
                name: "TERN_CMA",
                description: "1: process_vm_readv and process_vm_writev are used where the system allows them; 0: never.",
                values: Values::Number(|all| all.transport.cma.into()),
            },
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_follow_the_categories() {
        assert_eq!(indices_of(0).start, 0);
        assert_eq!(indices_of(CATEGORIES.len() - 1).end, variables().count());
    }
}
