//! What `mpirun` says about itself.

/// `mpirun --help`.
pub const TEXT: &str = "\
Usage: mpirun [options] program [arguments] [: [options] program [arguments]] ...

Starts programs as the ranks of one MPI job, on this machine unless hosts are named. Every long option may
be written with one dash or two, and with a space or '=' before its value.

Of each program:
  -n, -np, -c N           number of ranks (default: the cores that may be used)
  -wdir, -wd DIR          run it in this directory
  -env NAME VALUE         set a variable for it
  -host HOST[:SLOTS],...  where it runs
  -soft SET               the largest number of ranks up to N that SET has: 'A', 'A:B', 'A:B:STEP', ...
  -path DIRS              look for it in these directories first (separated by ':')
  -arch NAME              refuse to start it where the architecture is another
  -initial-errhandler H   mpi_errors_are_fatal (default), mpi_errors_abort or mpi_errors_return

Of the job:
  -genv NAME VALUE        set a variable for all programs
  -x NAME[=VALUE]         the same; NAME alone is passed on anyway
  -l, --tag-output        put '[rank] ' before every line
  --stdin RANK|all|none   who gets the standard input (default: rank 0)
  --timeout SECONDS       say where each rank stands, and end the job, after this time
                          (also: TERN_TIMEOUT, MPIEXEC_TIMEOUT); exit status 124
  --bind-to WHAT          bind each rank to a hwthread, core, socket or numa node, in turn
                          (default: none)
  --report-bindings       say where each rank may run
  --hostfile FILE         hosts, one in a line: 'HOST', 'HOST:SLOTS' or 'HOST slots=SLOTS'
  -ppn N                  so many ranks on each host, in turn
  --map-by slot|node      fill one host after the other (default), or go round them; also ppr:N:node;
                          ':PE=N' behind it binds each rank to N cores
  --launcher CMD          runs a command on a host, as 'CMD HOST COMMAND' (default: ssh); CMD may have quotes
  --tree N                hosts that mpirun, and each host in turn, starts by itself (default: 16)
  -v, --verbose           say what is done
  -V, --version           print the version
  -h, --help              print this

Accepted without effect: -genvall, --oversubscribe, --allow-run-as-root; and, with a word about it,
--rank-by, --mca, --use-hwthread-cpus, and --map-by with a part of a host.

Signals: SIGINT, SIGTERM, SIGHUP, SIGQUIT and SIGUSR2 go to all ranks, a second within 10 s kills them;
SIGTSTP and SIGCONT stop and continue them. SIGUSR1 prints where each rank stands.

The exit status is that of the first rank that failed, 128 + N for a rank that signal N killed,
126 or 127 for a program that cannot be run or found, 124 for a timeout.
";

/// No program was named.
pub const NO_PROGRAM: &str = "which program is to be run? Try: mpirun -n 4 ./program, or mpirun --help";
