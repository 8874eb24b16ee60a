"""What is measured: the jobs of each case, how often and for how long."""

from dataclasses import dataclass, field
from statistics import median

# The collectives that are measured, with the bytes of a block, and on how many ranks.
COLLECTIVES = (("barrier", 0), ("bcast", 8), ("bcast", 64 << 10), ("bcast", 1 << 20), ("allreduce", 8),
               ("allreduce", 8 << 10), ("allreduce", 1 << 20), ("alltoall", 8), ("alltoall", 1 << 10),
               ("alltoall", 64 << 10), ("allgather", 8), ("allgather", 8 << 10))
COLLECTIVE_RANKS = (2, 4, 8, 16)
# The others, and the same at other sizes.
COLLECTIVE_SIZES = (8, 1 << 10, 8 << 10, 64 << 10, 1 << 20)
FURTHER_COLLECTIVES = tuple(
    (metric, size) for metric in ("bcast", "allreduce", "alltoall", "allgather", "reduce", "gather", "scatter", "scan", "exscan",
                                  "reduce_scatter", "reduce_scatter_block", "gatherv", "scatterv", "allgatherv", "alltoallv")
    for size in COLLECTIVE_SIZES if (metric, size) not in COLLECTIVES)

# Small programs that communicate as applications do.
APPS = ("halo", "spmv", "particles", "fft", "graph")
APP_RANKS = (2, 4, 8)

# Datatypes whose data have gaps, and the bytes of their blocks.
TYPES = ("vector", "indexed", "struct")
TYPE_BLOCKS = (8, 64, 512)

# Metrics of which more is better; of all others, less.
RATES = {"rate_window", "rate_blocking", "raw_ring_rate", "tcp_rate_window", "tcp_rate_blocking"}

# The sizes of which the goals over TCP speak; those in between show the change of protocols.
TCP_SIZES = (8, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20, 2 << 20, 4 << 20, 16 << 20)
TCP_OVERSUBSCRIBED_RANKS = 4

# Windows: on how many ranks all synchronize and combine elements, and the sizes of which the goals over TCP speak.
WINDOW_RANKS = (2, 8, 16)
TCP_WINDOW_SIZES = (8, 4 << 20)

# Files: on how many ranks all access one together, and the bytes that they move in all.
FILE_RANKS = (2, 4, 8)
FILE_BYTES = 64 << 20
FILE_PIECES = (4 << 10, 64 << 10, 1 << 20)

MPI, RAW = "mpi", "raw"


@dataclass(frozen=True)
class Job:
    """One command that is run on each system of its kind."""

    program: str  # its source, without the ending
    ranks: int = 2
    arguments: tuple = ()
    repetitions: int = 5
    timeout: float = 30
    kind: str = MPI
    wall: str | None = None  # the metric that the wall time of the whole command is
    tcp: bool = False  # over TCP on loop-back; the names of its metrics begin with "tcp_"

    @property
    def label(self):
        """What a failure calls it."""
        words = [self.program, *(word for word in self.arguments[2:] if self.program == "files")]
        return " ".join(words) + (" over TCP" if self.tcp else "")


@dataclass
class Case:
    """Jobs that belong together, as `--cases` names them."""

    name: str
    title: str
    seconds: float  # no further repetition begins after this
    jobs: list = field(default_factory=list)


@dataclass(frozen=True)
class Folders:
    """Where the files of the file cases lie."""

    cache: str = "/dev/shm"  # on a file system in memory
    disk: str = "."  # on a disk


def file_case(name, medium, folder, quick):
    """Files on one medium. On a disk only what moves much is measured: the rest does not wait for it."""
    point = 0.05 if quick else 0.2
    count = 1 if quick else 3

    def job(what, ranks, kind="files"):
        return Job(kind, ranks, (point, folder, medium, *([what] if what else [])), count, timeout=60,
                   kind=MPI if kind == "files" else RAW)

    numbers = FILE_RANKS[:2] if quick else FILE_RANKS
    bare = [Job("raw_files_together", ranks, (point, folder, medium, ranks), count, timeout=60, kind=RAW) for ranks in numbers]
    together = [job(what, ranks) for ranks in numbers for what in ("blocks", "array")]
    alone = [job("own", 1), job("open", 8), job("shared", 2)] if medium == "cache" else []
    where = "in the page cache" if medium == "cache" else "on a disk"
    return Case(name, f"files {where}, in {folder}", 300, [job("", 1, "raw_files"), *bare, *together, *alone, job("overlap", 1)])


def all_cases(quick, folders=Folders()):
    """The cases in the order they run. `quick` shortens everything to fit a minute."""

    def times(full, short=1):
        return short if quick else full

    point = 0.02 if quick else 0.1
    few = point if quick else 0.06
    idle = 1 if quick else 5
    # The sizes that goals speak of come first and on their own, with more time than the curve's others.
    goal_sizes = (8, 64 << 10, 1 << 20, 4 << 20)
    curve = tuple(1 << power for power in range(0, 23) if 1 << power not in goal_sizes)
    if quick:
        curve = curve[::3]
    sizes = (2, 8) if quick else COLLECTIVE_RANKS
    return [
        Case("latency", "one-way latency and bandwidth, 2 ranks", 80, [
            Job("raw_flags", 2, (point,), times(7, 2), kind=RAW),
            Job("raw_copy", 2, (few,), times(5), kind=RAW),
            Job("raw_cells", 2, (few,), times(5), kind=RAW),
            Job("latency", 2, (2 * point, *goal_sizes), times(7, 2)),
            Job("latency", 2, (few, *curve), times(3)),
        ]),
        Case("rate", "message rate of 8 bytes, 2 ranks", 30, [Job("rate", 2, (2 * point,), times(5, 2))]),
        Case("queue", "latency behind 16,384 receives or messages", 30, [Job("queue", 2, (2 * point,), times(3))]),
        Case("barrier", "barrier", 80, [
            job for ranks in COLLECTIVE_RANKS
            for job in (
                Job("raw_barrier", ranks, (point, ranks), times(3), kind=RAW),
                Job("collectives", ranks, (2 * point, "barrier"), times(3)),
            )
        ]),
        Case("threads", "4 threads on each of 3 ranks, all exchanging 8 bytes", 40,
             [Job("threads", 3, (2 * point,), times(5, 1))]),
        Case("idle", f"a rank blocked in a receive for {idle} s, and one that sleeps and has a window", 80, [
            Job("idle", 2, (idle,), 1), Job("idle", 2, (idle,), 1, tcp=True),
        ]),
        Case("start", "starting and ending hello", 60, [
            Job("raw_spawn", 2, (2, 20), times(3), kind=RAW),
            Job("raw_spawn", 32, (32, 20), times(3), kind=RAW),
            Job("hello", 2, (), times(9, 3), wall="start"),
            Job("hello", 32, (), times(5, 2), wall="start"),
        ]),
        Case("memory", "memory of a rank after an all-to-all of 32 ranks", 20, [Job("memory", 32, (), 1)]),
        Case("reduce", "a local reduction of 64 MiB of doubles", 20, [
            Job("raw_reduce_local", 1, (few,), times(5, 2), kind=RAW),
            Job("reduce_local", 1, (few,), times(5, 2)),
        ]),
        Case("tcp", "one-way latency and bandwidth over TCP, 2 ranks", 120, [
            Job("raw_tcp", 2, (few, 2, "poll", *TCP_SIZES), times(5, 2), kind=RAW),
            Job("latency", 2, (few, *TCP_SIZES), times(5, 2), tcp=True),
        ]),
        Case("tcp_rate", "message rate of 8 bytes over TCP, 2 ranks", 30, [
            Job("rate", 2, (2 * point,), times(5, 2), tcp=True),
        ]),
        Case("tcp_oversubscribed", f"one-way latency over TCP, {TCP_OVERSUBSCRIBED_RANKS} ranks that outnumber the cores", 40, [
            Job("raw_tcp", TCP_OVERSUBSCRIBED_RANKS, (point, TCP_OVERSUBSCRIBED_RANKS, "block", 8), times(5, 2), kind=RAW),
            Job("latency", TCP_OVERSUBSCRIBED_RANKS, (point, 8), times(5, 2), tcp=True),
        ]),
        Case("windows", "one-sided communication", 240, [
            Job("raw_window", 1, (few,), times(3), kind=RAW),
            *(Job("raw_window", ranks, (few, ranks), times(3), kind=RAW) for ranks in WINDOW_RANKS if ranks in sizes),
            Job("raw_tcp", 2, (few, 2, "poll", *TCP_WINDOW_SIZES), times(3), kind=RAW),
            Job("reduce_local", 1, (few, 1 << 20), times(3)),
            Job("windows", 2, (few,), times(3), timeout=60),
            *(Job("windows", ranks, (few, "together"), times(3), timeout=60) for ranks in sizes if ranks in WINDOW_RANKS[1:]),
            Job("windows", 2, (few,), times(3), timeout=60, tcp=True),
        ]),
        Case("partitioned", "partitioned communication, 2 ranks", 30, [Job("partitioned", 2, (few,), times(3))]),
        Case("spawn", "processes that a program starts", 40, [Job("spawn", 1, (times(5, 2),), times(3))]),
        Case("collectives", "collectives", 150, [
            Job("collectives", ranks, (few, "all"), times(3), timeout=60) for ranks in sizes
        ]),
        Case("further", "further collectives", 300, [
            Job("collectives", ranks, (few / 3, "further"), times(3), timeout=120) for ranks in sizes
        ]),
        Case("types", "64 KiB in blocks with gaps, 2 ranks", 40, [Job("types", 2, (few,), times(3))]),
        Case("apps", "mini-applications", 60, [
            Job(f"apps/{app}", ranks, (2 * point,), times(3)) for app in APPS for ranks in (sizes[:1] if quick else APP_RANKS)
        ]),
        file_case("files", "cache", folders.cache, quick),
        file_case("disk", "disk", folders.disk, quick),
    ]


class Results:
    """All samples, by metric, number of ranks, parameter and system."""

    def __init__(self):
        self.samples = {}
        self.failures = []

    def add(self, system, job, outcome):
        """Takes what a job printed, or why it gave nothing."""
        if outcome.failure:
            self.fail(system, job, outcome.failure)
        elif job.wall:
            self.put(job.wall, job.ranks, 0, system, outcome.seconds, outcome.seconds)
            return
        for line in outcome.output.splitlines():
            words = line.split()
            if len(words) == 5 and words[0] == "result":
                metric = f"tcp_{words[1]}" if job.tcp else words[1]
                self.put(metric, job.ranks, int(words[2]), system, float(words[3]), float(words[4]))

    def fail(self, system, job, why):
        """A job gave nothing."""
        self.failures.append({"system": system, "program": job.label, "ranks": job.ranks, "why": why})

    def put(self, metric, ranks, parameter, system, best, middle):
        """One repetition's best and median."""
        self.samples.setdefault((metric, ranks, parameter), {}).setdefault(system, []).append((best, middle))

    def get(self, system, metric, ranks=2, parameter=0):
        """(best, median) over the repetitions, or None."""
        pairs = self.samples.get((metric, ranks, parameter), {}).get(system)
        if not pairs:
            return None
        choose = max if metric in RATES else min
        return choose(best for best, _ in pairs), median(middle for _, middle in pairs)

    def paired(self, system, other, metric, ranks=2, parameter=0):
        """The median of the ratios within a repetition, in which systems take turns; None if one was not measured."""
        samples = self.samples.get((metric, ranks, parameter), {})
        pairs = [mine / theirs for (_, mine), (_, theirs) in zip(samples.get(system, []), samples.get(other, []))]
        return median(pairs) if pairs else None

    def points(self, system, metric, ranks=2):
        """The curve of a metric: [(parameter, best, median)], sorted."""
        found = [p for (m, r, p), systems in self.samples.items() if m == metric and r == ranks and system in systems]
        return [(p, *self.get(system, metric, ranks, p)) for p in sorted(found)]

    def rows(self):
        """Everything, for the JSON file."""
        return [
            {"metric": m, "ranks": r, "parameter": p, "system": system,
             "best": self.get(system, m, r, p)[0], "median": self.get(system, m, r, p)[1],
             "repetitions": pairs}
            for (m, r, p), systems in sorted(self.samples.items()) for system, pairs in systems.items()
        ]
