//! The options of `mpirun`: one row each, from which come the parser, `--help`, the manual page and the completions.

/// What an option means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Count,
    Directory,
    Env,
    GlobalEnv,
    Export,
    Tag,
    Timestamp,
    Merge,
    Output,
    OutputFiles,
    OutPattern,
    ErrPattern,
    Quiet,
    Timeout,
    Stdin,
    Bind,
    BindFixed(&'static str),
    ReportBindings,
    CpuSet,
    Host,
    Hostfile,
    ConfigFile,
    MapBy,
    MapFixed(&'static str),
    PerNode,
    PerSocket,
    CoresPerRank,
    RankBy,
    NoOversubscribe,
    ShowMap,
    ShowAllocation,
    DryRun,
    Launcher,
    Bootstrap,
    Prefix,
    Tree,
    Interface,
    Verbose,
    Info,
    Version,
    Help,
    Soft,
    Architecture,
    Path,
    InitialErrhandler,
    /// What Tern does anyway or can do without; told with `-v`.
    NoEffect,
    /// The same, with a word about it, which is always told.
    Remark(&'static str),
    Mca,
    /// Refused, with what to use instead.
    Instead(&'static str),
}

/// An option: its names without dashes, the names of its values, what it means, and what the help says of it. A single letter is short.
pub struct Row(pub &'static [&'static str], pub &'static [&'static str], pub Key, pub &'static str);

impl Row {
    /// The name that the parser knows it by: the first long one.
    pub fn id(&self) -> &'static str {
        self.0.iter().find(|name| name.len() > 1).unwrap_or(&self.0[0])
    }

    /// For another name: what it is a name of.
    pub fn meaning(&self) -> String {
        match self.2 {
            Key::BindFixed(to) => format!("--bind-to {to}"),
            Key::MapFixed(way) => format!("--map-by {way}"),
            Key::PerSocket => "--map-by ppr:N:socket".into(),
            Key::CoresPerRank => "--map-by slot:PE=N".into(),
            Key::Bootstrap => "--launcher".into(),
            Key::Bind => "--bind-to".into(),
            _ => String::new(),
        }
    }

    /// Whether the help leaves it out.
    pub fn is_hidden(&self) -> bool {
        matches!(self.2, Key::NoEffect | Key::Remark(_) | Key::Mca | Key::Instead(_)) || self.3.is_empty()
    }
}

/// Rows under one heading.
pub type Group = (&'static str, &'static [Row]);

/// All options.
pub const GROUPS: [Group; 7] = [
    ("Of each program", PROGRAM),
    ("Where ranks run", PLACE),
    ("Output and input", OUTPUT),
    ("Of the job", JOB),
    ("Other names of these", ALIASES),
    ("Accepted without effect", IDLE),
    ("Not here", ELSEWHERE),
];

const PROGRAM: &[Row] = &[
    Row(&["n", "np", "c"], &["N"], Key::Count, "Number of ranks (default: the cores that may be used)"),
    Row(&["wdir", "wd"], &["DIR"], Key::Directory, "Run it in this directory"),
    Row(&["env"], &["NAME", "VALUE"], Key::Env, "Set a variable for it"),
    Row(&["host", "hosts", "H"], &["HOST[:SLOTS],..."], Key::Host, "Where it runs"),
    Row(
        &["soft"],
        &["SET"],
        Key::Soft,
        "The largest number of ranks up to N that SET has: A, A:B, A:B:STEP, ...",
    ),
    Row(&["path"], &["DIRS"], Key::Path, "Look for it in these directories first (separated by ':')"),
    Row(&["arch"], &["NAME"], Key::Architecture, "Refuse to start it where the architecture is another"),
    Row(
        &["initial-errhandler"],
        &["H"],
        Key::InitialErrhandler,
        "mpi_errors_are_fatal (default), mpi_errors_abort or mpi_errors_return",
    ),
];

const PLACE: &[Row] = &[
    Row(
        &["hostfile", "machinefile", "host-file", "default-hostfile", "f"],
        &["FILE"],
        Key::Hostfile,
        "Hosts, one in a line: 'HOST', 'HOST:SLOTS' or 'HOST slots=SLOTS'",
    ),
    Row(
        &["ppn", "perhost", "N", "npernode", "ranks-per-node"],
        &["N"],
        Key::PerNode,
        "So many ranks on each host, in turn",
    ),
    Row(
        &["map-by"],
        &["WHAT"],
        Key::MapBy,
        "slot: fill one host after the other (default); node: go round them; ppr:N:node, ppr:N:socket, ...: so many on each; \
         with --bind-to, core, l3cache, numa or socket: go round these; ':PE=N' behind it binds each rank to N cores",
    ),
    Row(
        &["rank-by"],
        &["WHAT"],
        Key::RankBy,
        "Number the ranks host after host (slot), round the hosts (node), or within a host round its cores, sockets, ...",
    ),
    Row(
        &["bind-to"],
        &["WHAT"],
        Key::Bind,
        "Bind each rank to a hwthread, core, l3cache, socket or numa node, in turn (default: none)",
    ),
    Row(
        &["cpu-set", "cpu-list"],
        &["LIST"],
        Key::CpuSet,
        "Use these processors of each host only, as in 0-3,8",
    ),
    Row(&["report-bindings"], &[], Key::ReportBindings, "Say where each rank may run"),
    Row(&["nooversubscribe"], &[], Key::NoOversubscribe, "Refuse to start more ranks than there are slots"),
    Row(&["display-map", "print-rank-map"], &[], Key::ShowMap, "Say which ranks run on which host"),
    Row(&["display-allocation"], &[], Key::ShowAllocation, "Say which hosts may be used, and their slots"),
    Row(
        &["dry-run", "do-not-launch", "donotlaunch"],
        &[],
        Key::DryRun,
        "Say which ranks would run on which host, and start nothing",
    ),
];

const OUTPUT: &[Row] = &[
    Row(&["l", "tag-output", "prepend-rank"], &[], Key::Tag, "Put '[rank] ' before every line"),
    Row(&["timestamp-output"], &[], Key::Timestamp, "Put the time (UTC) before every line"),
    Row(
        &["merge-stderr-to-stdout"],
        &[],
        Key::Merge,
        "What ranks write to the standard error goes to the standard output",
    ),
    Row(
        &["output"],
        &["WHAT,..."],
        Key::Output,
        "tag, timestamp, merge, dir=DIR or file=NAME; another word is a DIR",
    ),
    Row(
        &["output-filename", "output-directory"],
        &["DIR[:nocopy]"],
        Key::OutputFiles,
        "Write the output of each rank also to DIR/1/rank.R/stdout and stderr; with :nocopy, only there",
    ),
    Row(
        &["outfile-pattern"],
        &["FILE"],
        Key::OutPattern,
        "Write the standard output to files instead; %r is the rank, %h its host, %p the host's number",
    ),
    Row(&["errfile-pattern"], &["FILE"], Key::ErrPattern, "The same for the standard error"),
    Row(&["stdin"], &["RANK|all|none"], Key::Stdin, "Who gets the standard input (default: rank 0)"),
    Row(&["q", "quiet"], &[], Key::Quiet, "Say nothing about options and variables that change nothing"),
];

const JOB: &[Row] = &[
    Row(&["genv"], &["NAME", "VALUE"], Key::GlobalEnv, "Set a variable for all programs"),
    Row(&["x"], &["NAME[=VALUE]"], Key::Export, "The same; NAME alone is passed on anyway"),
    Row(
        &["timeout"],
        &["SECONDS"],
        Key::Timeout,
        "Say where each rank stands, and end the job, after this time (also: TERN_TIMEOUT, MPIEXEC_TIMEOUT)",
    ),
    Row(
        &["configfile", "app"],
        &["FILE"],
        Key::ConfigFile,
        "Read programs with their options from a file, one in a line",
    ),
    Row(
        &["launcher", "launcher-exec", "bootstrap-exec"],
        &["CMD"],
        Key::Launcher,
        "Runs a command on a host, as 'CMD HOST COMMAND' (default: ssh); CMD may have quotes",
    ),
    Row(
        &["prefix"],
        &["DIR"],
        Key::Prefix,
        "Other hosts have Tern in this directory (default: where it is here)",
    ),
    Row(
        &["tree"],
        &["N"],
        Key::Tree,
        "Hosts that mpirun, and each host in turn, starts by itself (default: 16)",
    ),
    Row(
        &["iface"],
        &["NAME"],
        Key::Interface,
        "Use this network interface, or the one with this address (also: TERN_INTERFACE)",
    ),
    Row(&["v", "verbose"], &[], Key::Verbose, "Say what is done"),
    Row(&["info"], &[], Key::Info, "Print what this mpirun is"),
    Row(&["V", "version"], &[], Key::Version, "Print the version"),
    Row(&["h", "help"], &[], Key::Help, "Print this"),
];

const ALIASES: &[Row] = &[
    Row(&["bootstrap"], &["ssh|rsh|fork"], Key::Bootstrap, ""),
    Row(&["binding"], &["WHAT"], Key::Bind, ""),
    Row(&["bind-to-core"], &[], Key::BindFixed("core"), ""),
    Row(&["bind-to-socket"], &[], Key::BindFixed("socket"), ""),
    Row(&["bind-to-none"], &[], Key::BindFixed("none"), ""),
    Row(&["bynode"], &[], Key::MapFixed("node"), ""),
    Row(&["byslot"], &[], Key::MapFixed("slot"), ""),
    Row(&["pernode"], &[], Key::MapFixed("ppr:1:node"), ""),
    Row(&["npersocket"], &["N"], Key::PerSocket, ""),
    Row(&["cpus-per-proc", "cpus-per-rank"], &["N"], Key::CoresPerRank, ""),
];

// What scripts written for other launchers say.
const IDLE: &[Row] = &[
    Row(
        &[
            "genvall",
            "envall",
            "oversubscribe",
            "allow-run-as-root",
            "hetero-nodes",
            "disable-hostname-propagation",
        ],
        &[],
        Key::NoEffect,
        "what Tern does anyway, or can do without",
    ),
    Row(&["envlist", "genvlist"], &["NAMES"], Key::NoEffect, "all variables of mpirun are passed on anyway"),
    Row(
        &["envnone", "genvnone"],
        &[],
        Key::Remark("all variables are passed on; 'env -i NAME=VALUE mpirun ...' leaves them out"),
        "all variables are passed on; env -i leaves them out",
    ),
    Row(
        &["use-hwthread-cpus"],
        &[],
        Key::Remark("every hardware thread counts anyway, and --bind-to hwthread binds to one"),
        "every hardware thread counts anyway, and --bind-to hwthread binds to one",
    ),
    Row(
        &["mca", "gmca", "prtemca", "pmixmca"],
        &["NAME", "VALUE"],
        Key::Mca,
        "a setting of Open MPI; 'tern info' lists Tern's settings",
    ),
];

const ELSEWHERE: &[Row] = &[
    Row(
        &["xterm"],
        &["RANKS"],
        Key::Instead("'mpirun -n N xterm -e PROGRAM' gives each rank a window"),
        "mpirun -n N xterm -e PROGRAM",
    ),
    Row(
        &["preload-binary"],
        &[],
        Key::Instead(
            "copy the program to the same path on each host first, as with scp, or use a folder that they share",
        ),
        "copy the program with scp, or use a shared folder",
    ),
    Row(
        &["preload-files"],
        &["FILES"],
        Key::Instead("copy the files to each host first, as with scp, or use a folder that they share"),
        "copy the files with scp, or use a shared folder",
    ),
    Row(
        &["debug", "tv", "debugger"],
        &[],
        Key::Instead(
            "'mpirun -n N xterm -e gdb PROGRAM' debugs each rank, and 'gdb -p PROCESS' one that runs (mpirun -v names them)",
        ),
        "mpirun -n N xterm -e gdb PROGRAM, or gdb -p PROCESS",
    ),
    Row(
        &["rankfile"],
        &["FILE"],
        Key::Instead(
            "'mpirun -host A -n 1 PROGRAM : -host B -n 2 PROGRAM' places ranks, and --bind-to with --cpu-set binds them",
        ),
        "-host A -n 1 PROGRAM : -host B -n 2 PROGRAM; --bind-to, --cpu-set",
    ),
    Row(
        &["nolocal"],
        &[],
        Key::Instead("name the hosts that shall be used with --host or --hostfile, and leave this one out"),
        "--host with the other hosts",
    ),
];

/// All rows in order.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    GROUPS.iter().flat_map(|(_, rows)| rows.iter())
}

/// The option with this name, without dashes.
pub fn find(name: &str) -> Option<&'static Row> {
    rows().find(|row| row.0.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_name_means_two_things() {
        let names: Vec<_> = rows().flat_map(|row| row.0).collect();
        assert_eq!(names.len(), names.iter().collect::<BTreeSet<_>>().len());
    }

    #[test]
    fn what_is_shown_is_explained() {
        assert!(find("np").is_some_and(|row| !row.is_hidden() && row.id() == "np"));
        for (heading, rows) in GROUPS.iter().filter(|(heading, _)| !heading.starts_with("Other names")) {
            assert!(rows.iter().all(|row| !row.3.is_empty()), "{heading}");
        }
    }
}
