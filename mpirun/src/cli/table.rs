//! The options of `mpirun`: one row each, from which come the parser, `--help`, the manual page and the completions.

/// What an option means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OptionKey {
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
    RankFile,
    MapBy,
    MapFixed(&'static str),
    PerNode,
    PerSocket,
    CoresPerRank,
    HwThreadCpus,
    NoLocal,
    RankBy,
    NoOversubscribe,
    ShowMap,
    ShowAllocation,
    Display,
    DryRun,
    Launcher,
    Bootstrap,
    Prefix,
    Tree,
    Interface,
    Stats,
    Verbose,
    Info,
    Version,
    Help,
    Soft,
    Architecture,
    Abi,
    Path,
    InitialErrhandler,
    MemoryKinds,
    /// What Tern does anyway or can do without; told with `-v`.
    NoEffect,
    /// The same, with a word about it, which is always told.
    Remark(&'static str),
    Mca,
    /// Refused, with what to use instead.
    Instead(&'static str),
}

/// An option: its names without dashes, the names of its values, what it means, and what the help says of it. A single letter is short.
pub(crate) struct OptionRow(
    pub &'static [&'static str],
    pub &'static [&'static str],
    pub OptionKey,
    pub &'static str,
);

impl OptionRow {
    /// The name that the parser knows it by: the first long one.
    pub(crate) fn id(&self) -> &'static str {
        self.0.iter().find(|name| name.len() > 1).unwrap_or(&self.0[0])
    }

    /// For another name: what it is a name of.
    pub(crate) fn meaning(&self) -> String {
        match self.2 {
            OptionKey::BindFixed(to) => format!("--bind-to {to}"),
            OptionKey::MapFixed(way) => format!("--map-by {way}"),
            OptionKey::PerSocket => "--map-by ppr:N:socket".into(),
            OptionKey::CoresPerRank => "--map-by slot:PE=N".into(),
            OptionKey::Bootstrap => "--launcher".into(),
            OptionKey::Bind => "--bind-to".into(),
            OptionKey::Display => "--display-map, --report-bindings, --display-allocation".into(),
            _ => String::new(),
        }
    }

    /// Whether the help leaves it out.
    pub(crate) fn is_hidden(&self) -> bool {
        matches!(self.2, OptionKey::NoEffect | OptionKey::Remark(_) | OptionKey::Mca | OptionKey::Instead(_))
            || self.3.is_empty()
    }
}

/// Rows under one heading.
pub(crate) type OptionGroup = (&'static str, &'static [OptionRow]);

/// All options.
pub(crate) const GROUPS: [OptionGroup; 7] = [
    ("Of each program", PROGRAM),
    ("Where ranks run", PLACE),
    ("Output and input", OUTPUT),
    ("Of the job", JOB),
    ("Other names of these", ALIASES),
    ("Accepted without effect", IDLE),
    ("Not here", ELSEWHERE),
];

const PROGRAM: &[OptionRow] = &[
    OptionRow(
        &["n", "np", "c"],
        &["N"],
        OptionKey::Count,
        "Number of ranks (default: the cores that may be used)",
    ),
    OptionRow(&["wdir", "wd"], &["DIR"], OptionKey::Directory, "Run it in this directory"),
    OptionRow(&["env"], &["NAME", "VALUE"], OptionKey::Env, "Set a variable for it"),
    OptionRow(&["host", "hosts", "H"], &["HOST[:SLOTS],..."], OptionKey::Host, "Where it runs"),
    OptionRow(
        &["soft"],
        &["SET"],
        OptionKey::Soft,
        "The largest number of ranks up to N that SET has: A, A:B, A:B:STEP, ...",
    ),
    OptionRow(
        &["path"],
        &["DIRS"],
        OptionKey::Path,
        "Look for it in these directories first (separated by ':')",
    ),
    OptionRow(
        &["arch"],
        &["NAME"],
        OptionKey::Architecture,
        "Refuse to start it where the architecture is another",
    ),
    OptionRow(
        &["abi"],
        &["WHICH"],
        OptionKey::Abi,
        "It was compiled for mpich, openmpi or standard; auto looks at the libraries that it needs (default)",
    ),
    OptionRow(
        &["initial-errhandler"],
        &["H"],
        OptionKey::InitialErrhandler,
        "mpi_errors_are_fatal (default), mpi_errors_abort or mpi_errors_return",
    ),
    OptionRow(
        &["memory-alloc-kinds"],
        &["KINDS"],
        OptionKey::MemoryKinds,
        "Kinds of memory that it asks for, as in system,mpi; it finds those that are there by mpi_memory_alloc_kinds",
    ),
];

const PLACE: &[OptionRow] = &[
    OptionRow(
        &["hostfile", "machinefile", "host-file", "default-hostfile", "f"],
        &["FILE"],
        OptionKey::Hostfile,
        "Hosts, one in a line: 'HOST', 'HOST:SLOTS' or 'HOST slots=SLOTS'",
    ),
    OptionRow(
        &["ppn", "perhost", "N", "npernode", "ranks-per-node"],
        &["N"],
        OptionKey::PerNode,
        "So many ranks on each host, in turn",
    ),
    OptionRow(
        &["map-by"],
        &["WHAT"],
        OptionKey::MapBy,
        "slot: fill one host after the other (default); node: go round them; ppr:N:node, ppr:N:socket, ...: so many on each; \
         hwthread, core, l1cache to l3cache, numa, socket or board: go round these, and bind to them unless --bind-to says \
         otherwise; dist:DEVICE: first those near to a device; pe-list=LIST: these processors; ':PE=N' behind it binds each \
         rank to N cores",
    ),
    OptionRow(
        &["rankfile", "rf"],
        &["FILE"],
        OptionKey::RankFile,
        "Where each rank runs, one in a line: 'rank N=HOST slot=SLOTS'; SLOTS are cores (0,2-3), cores of a socket (1:0-2, 1:*) or \
         processors by the system's numbers (p4); '+n0' is the first host of the job",
    ),
    OptionRow(
        &["rank-by"],
        &["WHAT"],
        OptionKey::RankBy,
        "Number the ranks host after host (slot), round the hosts (node), or within a host round its cores, sockets, ...",
    ),
    OptionRow(
        &["bind-to"],
        &["WHAT"],
        OptionKey::Bind,
        "Bind each rank to a hwthread, core, l1cache to l3cache, numa node, socket or board, in turn (default: none); \
         'core:2': to two of them; 'user:0+8,1+9': to these processors; ':overload-allowed' or ':no-overload' behind it: \
         what if ranks have to share",
    ),
    OptionRow(
        &["cpu-set", "cpu-list"],
        &["LIST"],
        OptionKey::CpuSet,
        "Use these processors of each host only, as in 0-3,8",
    ),
    OptionRow(
        &["use-hwthread-cpus"],
        &[],
        OptionKey::HwThreadCpus,
        "Each hardware thread counts as a core: --bind-to core and ':PE=N' mean threads",
    ),
    OptionRow(&["nolocal"], &[], OptionKey::NoLocal, "No ranks on the host where mpirun runs"),
    OptionRow(&["report-bindings"], &[], OptionKey::ReportBindings, "Say where each rank may run"),
    OptionRow(
        &["nooversubscribe"],
        &[],
        OptionKey::NoOversubscribe,
        "Refuse to start more ranks than there are slots",
    ),
    OptionRow(
        &["display-map", "print-rank-map"],
        &[],
        OptionKey::ShowMap,
        "Say which ranks run on which host",
    ),
    OptionRow(
        &["display-allocation"],
        &[],
        OptionKey::ShowAllocation,
        "Say which hosts may be used, and their slots",
    ),
    OptionRow(
        &["dry-run", "do-not-launch", "donotlaunch"],
        &[],
        OptionKey::DryRun,
        "Say which ranks would run on which host, and start nothing",
    ),
];

const OUTPUT: &[OptionRow] = &[
    OptionRow(&["l", "tag-output", "prepend-rank"], &[], OptionKey::Tag, "Put '[rank] ' before every line"),
    OptionRow(&["timestamp-output"], &[], OptionKey::Timestamp, "Put the time (UTC) before every line"),
    OptionRow(
        &["merge-stderr-to-stdout"],
        &[],
        OptionKey::Merge,
        "What ranks write to the standard error goes to the standard output",
    ),
    OptionRow(
        &["output"],
        &["WHAT,..."],
        OptionKey::Output,
        "tag, timestamp, merge, dir=DIR or file=NAME; another word is a DIR",
    ),
    OptionRow(
        &["output-filename", "output-directory"],
        &["DIR[:nocopy]"],
        OptionKey::OutputFiles,
        "Write the output of each rank also to DIR/1/rank.R/stdout and stderr; with :nocopy, only there",
    ),
    OptionRow(
        &["outfile-pattern"],
        &["FILE"],
        OptionKey::OutPattern,
        "Write the standard output to files instead; %r is the rank, %h its host, %p the host's number",
    ),
    OptionRow(&["errfile-pattern"], &["FILE"], OptionKey::ErrPattern, "The same for the standard error"),
    OptionRow(
        &["stdin"],
        &["RANK|all|none"],
        OptionKey::Stdin,
        "Who gets the standard input (default: rank 0)",
    ),
    OptionRow(
        &["q", "quiet"],
        &[],
        OptionKey::Quiet,
        "Say nothing about options and variables that change nothing",
    ),
];

const JOB: &[OptionRow] = &[
    OptionRow(&["genv"], &["NAME", "VALUE"], OptionKey::GlobalEnv, "Set a variable for all programs"),
    OptionRow(&["x"], &["NAME[=VALUE]"], OptionKey::Export, "The same; NAME alone is passed on anyway"),
    OptionRow(
        &["timeout"],
        &["SECONDS"],
        OptionKey::Timeout,
        "Say where each rank stands, and end the job, after this time; 0 is no limit (also: TERN_TIMEOUT, MPIEXEC_TIMEOUT)",
    ),
    OptionRow(
        &["configfile", "app"],
        &["FILE"],
        OptionKey::ConfigFile,
        "Read programs with their options from a file, one in a line",
    ),
    OptionRow(
        &["launcher", "launcher-exec", "bootstrap-exec"],
        &["CMD"],
        OptionKey::Launcher,
        "Runs a command on a host, as 'CMD HOST COMMAND' (default: ssh); CMD may have quotes",
    ),
    OptionRow(
        &["prefix"],
        &["DIR"],
        OptionKey::Prefix,
        "Other hosts have Tern in this directory (default: where it is here)",
    ),
    OptionRow(
        &["tree"],
        &["N"],
        OptionKey::Tree,
        "Hosts that mpirun, and each host in turn, starts by itself (default: 16)",
    ),
    OptionRow(
        &["iface"],
        &["NAME"],
        OptionKey::Interface,
        "Use this network interface, or the one with this address (also: TERN_INTERFACE)",
    ),
    OptionRow(
        &["stats"],
        &[],
        OptionKey::Stats,
        "Count messages, and say at the end what was counted, in all and of each rank",
    ),
    OptionRow(&["v", "verbose"], &[], OptionKey::Verbose, "Say what is done"),
    OptionRow(&["info"], &[], OptionKey::Info, "Print what this mpirun is"),
    OptionRow(&["V", "version"], &[], OptionKey::Version, "Print the version"),
    OptionRow(&["h", "help"], &[], OptionKey::Help, "Print this"),
];

const ALIASES: &[OptionRow] = &[
    OptionRow(&["bootstrap"], &["ssh|rsh|slurm|fork|..."], OptionKey::Bootstrap, ""),
    OptionRow(&["binding"], &["WHAT"], OptionKey::Bind, ""),
    OptionRow(&["bind-to-core"], &[], OptionKey::BindFixed("core"), ""),
    OptionRow(&["bind-to-socket"], &[], OptionKey::BindFixed("socket"), ""),
    OptionRow(&["bind-to-none"], &[], OptionKey::BindFixed("none"), ""),
    OptionRow(&["bynode"], &[], OptionKey::MapFixed("node"), ""),
    OptionRow(&["byslot"], &[], OptionKey::MapFixed("slot"), ""),
    OptionRow(&["pernode"], &[], OptionKey::MapFixed("ppr:1:node"), ""),
    OptionRow(&["npersocket"], &["N"], OptionKey::PerSocket, ""),
    OptionRow(&["cpus-per-proc", "cpus-per-rank"], &["N"], OptionKey::CoresPerRank, ""),
    OptionRow(&["display"], &["map|bind|allocation|topo"], OptionKey::Display, ""),
];

// What scripts written for other launchers say.
const IDLE: &[OptionRow] = &[
    OptionRow(
        &[
            "genvall",
            "envall",
            "oversubscribe",
            "allow-run-as-root",
            "hetero-nodes",
            "disable-hostname-propagation",
            "disable-x",
            "leave-session-attached",
            "noprefix",
            "pmi-port",
            "show-progress",
        ],
        &[],
        OptionKey::NoEffect,
        "what Tern does anyway, or can do without",
    ),
    OptionRow(
        &["report-state-on-timeout", "get-stack-traces"],
        &[],
        OptionKey::NoEffect,
        "at the end of --timeout, mpirun says where each rank stands anyway",
    ),
    OptionRow(
        &["rmk", "topolib"],
        &["NAME"],
        OptionKey::NoEffect,
        "the batch system and the cores are found anyway",
    ),
    OptionRow(
        &["demux", "localhost", "personality", "stream-buffering"],
        &["VALUE"],
        OptionKey::NoEffect,
        "what Tern does anyway, or can do without",
    ),
    OptionRow(
        &["usize"],
        &["N"],
        OptionKey::Remark("MPI_UNIVERSE_SIZE is the number of slots of all hosts"),
        "MPI_UNIVERSE_SIZE is the number of slots of all hosts",
    ),
    OptionRow(
        &["disable-auto-cleanup", "enable-recovery", "continuous"],
        &[],
        OptionKey::Remark("the end of a rank without MPI_Finalize ends the job"),
        "the end of a rank without MPI_Finalize ends the job",
    ),
    OptionRow(
        &["print-all-exitcodes"],
        &[],
        OptionKey::Remark("a line tells of the first rank that fails, and SIGUSR1 prints where each stands"),
        "a line tells of the first rank that fails",
    ),
    OptionRow(
        &["membind"],
        &["POLICY"],
        OptionKey::Remark("'numactl --membind' in front of the program does that"),
        "numactl --membind in front of the program",
    ),
    OptionRow(
        &["rankmap"],
        &["MAP"],
        OptionKey::Remark("--rankfile says where each rank runs"),
        "--rankfile says where each rank runs",
    ),
    OptionRow(
        &["enable-x"],
        &[],
        OptionKey::Remark("--launcher 'ssh -X' forwards X"),
        "--launcher 'ssh -X' forwards X",
    ),
    OptionRow(
        &["nameserver"],
        &["HOST"],
        OptionKey::Remark("TERN_NAMES is a folder in which jobs on several hosts find published names"),
        "TERN_NAMES is a folder with published names",
    ),
    OptionRow(
        &["profile"],
        &[],
        OptionKey::Remark("--stats says what ranks have done"),
        "--stats says what ranks have done",
    ),
    OptionRow(
        &["report-pid"],
        &["WHERE"],
        OptionKey::Remark("the shell has the process id of mpirun as $!"),
        "the shell has the process id as $!",
    ),
    OptionRow(
        &["tmpdir"],
        &["DIR"],
        OptionKey::Remark("TMPDIR is the folder for temporary files"),
        "TMPDIR is the folder for temporary files",
    ),
    OptionRow(
        &["prepend-pattern"],
        &["PATTERN"],
        OptionKey::Remark("-l begins each line with its rank"),
        "-l begins each line with its rank",
    ),
    OptionRow(
        &["tune", "am"],
        &["FILES"],
        OptionKey::Remark("a file of settings of Open MPI; 'tern info' lists Tern's settings"),
        "a file of settings of Open MPI; 'tern info' lists Tern's settings",
    ),
    OptionRow(
        &["envlist", "genvlist"],
        &["NAMES"],
        OptionKey::NoEffect,
        "all variables of mpirun are passed on anyway",
    ),
    OptionRow(
        &["envnone", "genvnone"],
        &[],
        OptionKey::Remark("all variables are passed on; 'env -i NAME=VALUE mpirun ...' leaves them out"),
        "all variables are passed on; env -i leaves them out",
    ),
    OptionRow(
        &["mca", "gmca", "omca", "prtemca", "pmixmca"],
        &["NAME", "VALUE"],
        OptionKey::Mca,
        "a setting of Open MPI; 'tern info' lists Tern's settings",
    ),
];

const ELSEWHERE: &[OptionRow] = &[
    OptionRow(
        &["xterm"],
        &["RANKS"],
        OptionKey::Instead("'mpirun -n N xterm -e PROGRAM' gives each rank a window"),
        "mpirun -n N xterm -e PROGRAM",
    ),
    OptionRow(
        &["preload-binary"],
        &[],
        OptionKey::Instead(
            "copy the program to the same path on each host first, as with scp, or use a folder that they share",
        ),
        "copy the program with scp, or use a shared folder",
    ),
    OptionRow(
        &["preload-files"],
        &["FILES"],
        OptionKey::Instead("copy the files to each host first, as with scp, or use a folder that they share"),
        "copy the files with scp, or use a shared folder",
    ),
    OptionRow(
        &["order-nodes"],
        &["ascending|descending"],
        OptionKey::Instead("--host or the host file names the hosts in the order in which they are used"),
        "--host and the host file name hosts in their order",
    ),
    OptionRow(
        &["debug", "tv", "debugger"],
        &[],
        OptionKey::Instead(
            "'mpirun -n N xterm -e gdb PROGRAM' debugs each rank, and 'gdb -p PROCESS' one that runs (mpirun -v names them)",
        ),
        "mpirun -n N xterm -e gdb PROGRAM, or gdb -p PROCESS",
    ),
];

/// All rows in order.
pub(crate) fn rows() -> impl Iterator<Item = &'static OptionRow> {
    GROUPS.iter().flat_map(|(_, rows)| rows.iter())
}

/// The option with this name, without dashes.
pub(crate) fn find(name: &str) -> Option<&'static OptionRow> {
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
    fn another_name_says_of_what() {
        assert!(rows().filter(|row| row.3.is_empty()).all(|row| !row.meaning().is_empty()));
    }

    #[test]
    fn what_is_shown_is_explained() {
        assert!(find("np").is_some_and(|row| !row.is_hidden() && row.id() == "np"));
        for (heading, rows) in GROUPS.iter().filter(|(heading, _)| !heading.starts_with("Other names")) {
            assert!(rows.iter().all(|row| !row.3.is_empty()), "{heading}");
        }
    }
}
