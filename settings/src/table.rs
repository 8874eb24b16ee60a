//! The table itself.

use super::{Category, InitialErrors, OtherVariable, Values, Variable};
use tern_engine::settings::Rendezvous;
use tern_io::Backend;
use tern_transport::config::Checksum;
use tern_transport::copies::Copies;
use tern_transport::fingerprint::FINGERPRINT_SETTINGS_MAX;
use tern_transport::reach::{Interfaces, Ports};
use tern_transport::{Medium, TransportSetting};

/// The variables that the library reads, by category.
pub const CATEGORIES: &[Category] =
    &[PROTOCOLS, FLOW_CONTROL, NETWORK, SHARED_MEMORY, COLLECTIVES, FILES, ERRORS];

/// How variables begin that no user sets.
pub(super) const INTERNAL: [&str; 7] = [
    "TERN_BENCH_",
    "TERN_FUZZ_",
    "TERN_LAUNCHED_BY",
    "TERN_MPI4PY_",
    "TERN_PREFIX",
    "TERN_TEST_",
    "TERN_URTP_SEED",
];

/// Variables that must be the same on all ranks of a job; ranks compare them where they first meet. Each rank may have its own of
/// the others.
pub const SHARED: &[&str] = &[
    "TERN_CHECK",
    "TERN_CREDIT_BYTES",
    "TERN_TRANSPORT",
    "TERN_OFI_PROVIDER",
    "TERN_PORTS",
    "TERN_MULTICAST",
    "TERN_TCP_EAGER_BYTES",
    "TERN_TCP_CHECKSUM",
    "TERN_ENCRYPT",
    "TERN_RINGS",
    "TERN_RING_SLOTS",
    "TERN_CELLS",
    "TERN_CELL_BYTES",
    "TERN_CMA",
    "TERN_COPIES",
    "TERN_COLL_TABLE",
    "TERN_IO_HINTS",
    "TERN_WINDOWS",
];
const _: () = assert!(SHARED.len() <= FINGERPRINT_SETTINGS_MAX);

const PROTOCOLS: Category = Category {
    name: "protocols",
    description: "which protocol moves a message",
    variables: &[
        Variable {
            name: "TERN_EAGER_MAX",
            meaning: "Largest message in bytes that is sent at once, without asking the receiver; at most 32 cells over shared memory and TERN_TCP_EAGER_BYTES over TCP.",
            values: Values::Number(
                |all| all.engine.eager_bytes_max as u64,
                |all, bytes| all.engine.eager_bytes_max = bytes as usize,
            ),
        },
        Variable {
            name: "TERN_GET_MIN",
            meaning: "Smallest message in bytes that is not sent at once where the receiver can get it from the sender's memory; without effect where messages go by cells (TERN_COPIES), unless TERN_RENDEZVOUS names a way.",
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
            name: "TERN_COOPERATIVE_MIN",
            meaning: "Smallest contiguous message in bytes that both sides copy together.",
            values: Values::Number(
                |all| all.engine.cooperative_bytes_min as u64,
                |all, bytes| all.engine.cooperative_bytes_min = bytes as usize,
            ),
        },
        Variable {
            name: "TERN_PROGRESS",
            meaning: "poll: messages move while the program is in MPI; thread: a thread moves them while it computes, too.",
            values: Values::Choice(
                &["poll", "thread"],
                |all| all.progress_thread.into(),
                |all, at| all.progress_thread = at == 1,
            ),
        },
        Variable {
            name: "TERN_STATS",
            meaning: "1: messages are counted, and each rank tells mpirun its numbers at the end; mpirun --stats sets it and prints them.",
            values: Values::Switch(|all| all.stats, |all, on| all.stats = on),
        },
        Variable {
            name: "TERN_MEMORY_ALLOC_KINDS",
            meaning: "The kinds of memory that the program asks for (MPI 5.0 section 11.4.3); mpirun -memory-alloc-kinds sets it.",
            values: Values::Text(
                "kinds separated by commas, as in system,mpi:alloc_mem",
                |all| all.memory_kinds.clone(),
                |all, text| {
                    all.memory_kinds = text.into();
                    Some(())
                },
            ),
        },
        Variable {
            name: "TERN_WINDOWS",
            meaning: "auto: each rank's part of a window is reached by the shortest way; messages: by messages, as between hosts, unless \
                      MPI_Win_allocate_shared made it.",
            values: Values::Choice(
                &["auto", "messages"],
                |all| all.windows_by_messages.into(),
                |all, at| all.windows_by_messages = at == 1,
            ),
        },
        Variable {
            name: "TERN_CHECK",
            meaning: "types: the type signatures of sender and receiver are compared when a message is matched; \
                      collectives: the ranks compare what they call before they do it; threads: a thread that may not call, and waits, \
                      ends the job; windows: accesses to windows are compared with those that are still open.",
            values: Values::Set(
                &["types", "collectives", "threads", "windows"],
                |all, word| match word {
                    0 => all.engine.check_types,
                    1 => all.engine.check_collectives,
                    2 => all.check_threads,
                    _ => all.check_windows,
                },
                |all, word| match word {
                    0 => all.engine.check_types = true,
                    1 => all.engine.check_collectives = true,
                    2 => all.check_threads = true,
                    _ => all.check_windows = true,
                },
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

const NETWORK: Category = Category {
    name: "network",
    description: "TCP and datagrams between hosts; the same on all ranks of a job",
    variables: &[
        Variable {
            name: "TERN_TRANSPORT",
            meaning: "What carries messages: shared memory within a host and TCP or fabric hardware between hosts, one of them alone, datagrams that are made reliable, or libfabric.",
            values: Values::Choice(
                &TransportSetting::WORDS,
                |all| all.transport.transport as usize,
                |all, at| all.transport.transport = TransportSetting::ALL[at],
            ),
        },
        Variable {
            name: "TERN_INTERFACE",
            meaning: "The network interfaces at which other hosts reach this rank; unless it is set, all. mpirun -iface sets it. Each rank may have its own.",
            values: Values::Text(
                "names, addresses or networks, as in eth0,10.1.0.0/16",
                |all| all.transport.tcp.interfaces.text().into(),
                |all, text| Interfaces::parse(text).map(|found| all.transport.tcp.interfaces = found),
            ),
        },
        Variable {
            name: "TERN_OFI_PROVIDER",
            meaning: "libfabric's provider, as fi_info calls it. It carries messages between hosts if it is set, or if there is fabric hardware, unless TERN_TRANSPORT names another way.",
            values: Values::Text(
                "a provider, as in verbs;ofi_rxm",
                |all| all.transport.ofi.provider.into(),
                |all, text| {
                    all.transport.ofi.provider = text.to_owned().leak();
                    Some(())
                },
            ),
        },
        Variable {
            name: "TERN_OFI_INTERFACE",
            meaning: "The interface or device that libfabric uses, as fi_info calls its domain. Each rank may have its own.",
            values: Values::Text(
                "a domain, as in eth0 or mlx5_0",
                |all| all.transport.ofi.interface.into(),
                |all, text| {
                    all.transport.ofi.interface = text.to_owned().leak();
                    Some(())
                },
            ),
        },
        Variable {
            name: "TERN_PORTS",
            meaning: "The ports at which ranks are reached, TCP and UDP; the last of them is for multicasts. Unless it is set, the kernel chooses.",
            values: Values::Text(
                "first-last, as in 40000-40100: two ports at least",
                |all| all.transport.tcp.ports.text(),
                |all, text| Ports::parse(text).map(|ports| all.transport.tcp.ports = ports),
            ),
        },
        Variable {
            name: "TERN_MULTICAST",
            meaning: "1: collectives among hosts use multicast if it works among the hosts; 0: they do not; ethernet: multicast goes by Ethernet frames instead of UDP, if all ranks may send them (CAP_NET_RAW) and each has a machine of its own.",
            values: Values::Choice(
                &Medium::WORDS,
                |all| all.transport.multicast as usize,
                |all, at| all.transport.multicast = Medium::ALL[at],
            ),
        },
        Variable {
            name: "TERN_MULTICAST_PARITY",
            meaning: "For networks that lose packets: so many packets of multicasts, 2 to 32, are followed by one that brings a single lost one of them back without asking; 0: none. Each rank may have its own.",
            values: Values::Number(
                |all| all.transport.multicast_parity.into(),
                |all, packets| all.transport.multicast_parity = packets,
            ),
        },
        Variable {
            name: "TERN_TCP_EAGER_BYTES",
            meaning: "Largest message in bytes that is sent over TCP without asking the receiver.",
            values: Values::Number(
                |all| all.transport.tcp.eager_bytes.into(),
                |all, bytes| all.transport.tcp.eager_bytes = bytes,
            ),
        },
        Variable {
            name: "TERN_TCP_CHECKSUM",
            meaning: "What the checksum (CRC32C) of each frame covers: its header, or all of it.",
            values: Values::Choice(
                &Checksum::WORDS,
                |all| all.transport.tcp.checksum as usize,
                |all, at| all.transport.tcp.checksum = Checksum::ALL[at],
            ),
        },
        Variable {
            name: "TERN_ENCRYPT",
            meaning: "1: connections are encrypted (ChaCha20-Poly1305); 0: they are only authenticated.",
            values: Values::Switch(|all| all.transport.tcp.encrypt, |all, on| all.transport.tcp.encrypt = on),
        },
        Variable {
            name: "TERN_PEER_TIMEOUT",
            meaning: "Seconds in which a rank whose connection broke must come back.",
            values: Values::Number(
                |all| all.transport.tcp.peer_timeout_s.into(),
                |all, seconds| all.transport.tcp.peer_timeout_s = seconds,
            ),
        },
        Variable {
            name: "TERN_TCP_CUTS",
            meaning: "For tests: connections are broken once in about so many messages, and made again; 0: never.",
            values: Values::Number(
                |all| all.transport.tcp.cuts.into(),
                |all, cuts| all.transport.tcp.cuts = cuts,
            ),
        },
    ],
};

const SHARED_MEMORY: Category = Category {
    name: "shared-memory",
    description: "the transport between ranks of one node; the same on all ranks of a job",
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
            meaning: "Bytes of a cell. Where messages go by cells (TERN_COPIES), up to 8 of them are sent without asking, and up to 32 that have just come back; 4 elsewhere, and where ranks outnumber the cores.",
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
        Variable {
            name: "TERN_COPIES",
            meaning: "How messages of more than a few lines cross within a host: cells: through memory that both sides share; kernel: by the kernel where it may; auto: as is faster on this processor.",
            values: Values::Choice(
                &Copies::WORDS,
                |all| all.transport.copies as usize,
                |all, at| all.transport.copies = Copies::ALL[at],
            ),
        },
    ],
};

const COLLECTIVES: Category = Category {
    name: "collectives",
    description: "which algorithm serves which collective; the same on all ranks of a job",
    variables: &[Variable {
        name: "TERN_COLL_TABLE",
        meaning: "Rows that come before the built-in choice of algorithms, as tern tune writes and tern info --collectives prints them.",
        values: Values::File(|all| &all.coll_table, |all, file| file.clone_into(&mut all.coll_table)),
    }],
};

const FILES: Category = Category {
    name: "files",
    description: "how files are read and written",
    variables: &[
        Variable {
            name: "TERN_IO_HINTS",
            meaning: "Hints for all files, as a program could give them; those that it gives come first.",
            values: Values::Text(
                "names and values, as in cb_nodes=2,romio_cb_write=enable",
                |all| all.files.hints.clone(),
                |all, text| {
                    super::files::parse(text)?;
                    all.files.hints = text.to_owned();
                    Some(())
                },
            ),
        },
        Variable {
            name: "TERN_IO_BACKEND",
            meaning: "What non-blocking accesses go by: io_uring where the kernel allows it, or threads alone.",
            values: Values::Choice(
                &Backend::WORDS,
                |all| all.files.backend as usize,
                |all, at| all.files.backend = Backend::ALL[at],
            ),
        },
        Variable {
            name: "TERN_IO_VERBOSE",
            meaning: "1: rank 0 of a file says how it is accessed, and why; hints that change nothing are told of.",
            values: Values::Switch(|all| all.files.verbose, |all, on| all.files.verbose = on),
        },
    ],
};

const ERRORS: Category = Category {
    name: "errors",
    description: "what becomes of errors",
    variables: &[Variable {
        name: "TERN_INITIAL_ERRHANDLER",
        meaning: "The error handler of MPI_COMM_WORLD and MPI_COMM_SELF until the program sets another; mpirun -initial-errhandler sets it.",
        values: Values::Choice(
            &InitialErrors::WORDS,
            |all| all.errors as usize,
            |all, at| all.errors = InitialErrors::ALL[at],
        ),
    }],
};

/// The variables that others read.
pub const OTHERS: &[OtherVariable] = &[
    OtherVariable {
        name: "TERN_TIMEOUT",
        reader: "mpirun",
        values: "seconds",
        default: "none",
        meaning: "mpirun says where each rank stands and ends the job after this time; --timeout comes first.",
    },
    OtherVariable {
        name: "TERN_NAMES",
        reader: "mpirun",
        values: "a folder",
        default: "one in /tmp",
        meaning: "Where published names are kept; jobs find each other's names in the same folder, which may be one that hosts share.",
    },
    OtherVariable {
        name: "TERN_JOB",
        reader: "the library",
        values: "written by mpirun",
        default: "none",
        meaning: "Tells a process which rank it is; not for users, except to unset it and run a program alone.",
    },
];
