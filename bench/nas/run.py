#!/usr/bin/env python3
"""Runs the kernels of this folder with Tern and with the other MPI libraries that have a Fortran compiler wrapper here.

    bench/nas/run.py [--prefix DIR] [--classes S,W] [--ranks 1,2,4] [--times 5] [--kernels ep,is,cg,ft,mg]

Debian's packages mpich and openmpi are found by their names (mpif90.mpich, mpif90.openmpi). All kernels are compiled by the
same compilers with the same flags; only where a library's files are is taken from its wrappers. A program does what it
times as often as fills a fraction of a second. Runs of all libraries take turns, each round in another order; what counts
is a library's best turn of all its runs, and beside it stands by how much its median turn was slower (the median of
the runs' medians). A run while other programs used the machine's cores is done again. A kernel whose result is not the
published one ends everything.
"""

import argparse
import math
import os
import pathlib
import shlex
import shutil
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
RUN_LIMIT_S = 300
# What a program times takes about so long in all: startup, placement and the clock's steps no longer count then.
TIMED_S = 0.3
TURNS_MAX = 200
# CPU time of others, as a part of all cores' time, that disturbs a run; what the kernel's own threads take is less.
FOREIGN_MAX = 0.04
# How often a disturbed run is done again, and how long to wait for silence before.
AGAIN_MAX = 4
SILENCE_S = 5
# Compilers' options that say where a library is, as opposed to how to translate.
PLACES = ("-I", "-L", "-l", "-Wl,-rpath", "-Wl,--enable-new-dtags", "-pthread")


class Library:
    """An MPI library: where its files are, and how to start its programs."""

    def __init__(self, name, fortran, c, launcher):
        self.name, self.launcher = name, launcher
        # Tern makes the module files of a compiler that it does not know when it first compiles with it.
        subprocess.run([fortran, "-fsyntax-only", HERE / "ep.f90"], capture_output=True, cwd="/", check=False)
        self.places = {"f90": places(fortran), "c": places(c)}

    def build(self, kernel, compilers, folder):
        """Compiles a kernel; gives the program."""
        folder.mkdir(parents=True, exist_ok=True)
        program = folder / kernel
        language = "c" if kernel == "is" else "f90"
        sources = [HERE / "is.c"] if language == "c" else ["-J", folder, HERE / "nas.f90", HERE / f"{kernel}.f90"]
        command = [*compilers[language], "-O3", *sources, "-o", program, *self.places[language]]
        subprocess.run(command, check=True, cwd=folder)
        return program

    def run(self, program, kind, ranks, turns):
        """Mop/s of the best turn and of the median one, and seconds of the best."""
        command = [*self.launcher, "-n", str(ranks), str(program), kind, str(turns)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_LIMIT_S)
        words = done.stdout.split()
        if done.returncode != 0 or "verified" not in words or words[words.index("verified") + 1] != "yes":
            sys.exit(f"{self.name}: {shlex.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
        return tuple(float(words[words.index(name) + 1]) for name in ("Mop/s", "median", "seconds"))


def places(wrapper):
    """The options of a wrapper that say where the library is."""
    shown = subprocess.run([wrapper, "-show"], check=True, capture_output=True, text=True).stdout
    return [word for word in shlex.split(shown) if word.startswith(PLACES)]


def libraries(prefix):
    """Tern, and the peers that are installed."""
    found = [Library("Tern", prefix / "bin/mpifort", prefix / "bin/mpicc", [prefix / "bin/mpirun"])]
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    for name, extra in (("mpich", []), ("openmpi", ["--oversubscribe", *root])):
        tools = [shutil.which(f"{tool}.{name}") for tool in ("mpif90", "mpicc", "mpiexec")]
        if all(tools):
            found.append(Library(name, tools[0], tools[1], [tools[2], *extra]))
        else:
            print(f"{name} is not here (Debian: apt-get install {name_of_package(name)})", file=sys.stderr)
    return found


def name_of_package(name):
    """Debian's packages of a library with its compiler wrappers."""
    return {"mpich": "mpich libmpich-dev", "openmpi": "openmpi-bin libopenmpi-dev"}[name]


class Silence:
    """How much of the machine others use meanwhile."""

    def __init__(self):
        self.begun, self.busy, self.own = time.monotonic(), busy_s(), own_s()

    def foreign(self):
        """CPU time of others, as a part of all cores' time since this was made."""
        passed = time.monotonic() - self.begun
        others = (busy_s() - self.busy) - (own_s() - self.own)
        return others / (passed * os.cpu_count())


def busy_s():
    """CPU seconds of all processes since the machine's start, with what the hypervisor took."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _idle, _wait, irq, softirq, steal = map(int, file.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def own_s():
    """CPU seconds of this program and of all that it has started and that has ended."""
    return sum(os.times()[:4])


class Case:
    """A kernel, its class, and a number of ranks."""

    def __init__(self, kernel, kind, ranks, programs):
        self.kernel, self.kind, self.ranks, self.programs = kernel, kind, ranks, programs
        self.best = dict.fromkeys(programs, 0.0)
        self.medians = {name: [] for name in programs}
        self.turns = 1
        self.disturbed = 0

    def measure(self, found, times):
        """Lets the libraries take turns."""
        *_, seconds = self.run(found[0])
        self.turns = max(1, min(TURNS_MAX, math.ceil(TIMED_S / max(seconds, 1e-6))))
        for number in range(times):
            first = number % len(found)
            for library in found[first:] + found[:first]:
                best, median = self.run_in_silence(library)
                self.best[library.name] = max(best, self.best[library.name])
                self.medians[library.name].append(median)

    def run(self, library):
        return library.run(self.programs[library.name], self.kind, self.ranks, self.turns)

    def run_in_silence(self, library):
        """A run beside which others did little; after some trials, one beside which they did more."""
        for _ in range(AGAIN_MAX):
            silence = Silence()
            best, median, _ = self.run(library)
            if silence.foreign() <= FOREIGN_MAX:
                return best, median
            wait_for_silence()
        self.disturbed += 1
        return best, median

    def spread(self, name):
        """Per cent by which the median turn is slower than the best one."""
        return (1 - statistics.median(self.medians[name]) / self.best[name]) * 100

    def line(self, names):
        """This case's line of the table."""
        mine, peers = self.best["Tern"], names[1:]
        text = f"{self.kernel.upper() + ' ' + self.kind:<6}{self.ranks:>6}{mine:>10.1f}{self.spread('Tern'):>6.1f}%"
        for peer in peers:
            text += f"{self.best[peer]:>12.1f}{self.spread(peer):>6.1f}%{improvement(mine, self.best[peer]):>+8.1f}%"
        return text + (f"   {self.disturbed} runs disturbed" if self.disturbed else "")

    def ratio(self, peers):
        """Tern's speed over that of the best peer."""
        return self.best["Tern"] / max(self.best[peer] for peer in peers)


def wait_for_silence():
    """Until others leave the machine alone for a moment, or for some time."""
    end = time.monotonic() + SILENCE_S
    while time.monotonic() < end:
        silence = Silence()
        time.sleep(0.2)
        if silence.foreign() <= FOREIGN_MAX:
            return


def improvement(mine, other):
    """Per cent by which Tern is faster."""
    return (mine / other - 1) * 100


def measure(options, found):
    """Prints the table; gives the ratios to the best peer."""
    compilers = {"f90": shlex.split(os.environ.get("FC", "gfortran")), "c": shlex.split(os.environ.get("CC", "cc"))}
    names = [library.name for library in found]
    print("Mop/s of the best turn; by how much the median turn was slower; Tern's improvement")
    print(f"{'kernel':<6}{'ranks':>6}{'Tern':>10}{'':>7}" + "".join(f"{peer:>12}{'':>16}" for peer in names[1:]))
    ratios = []
    for kernel in options.kernels:
        programs = {lib.name: lib.build(kernel, compilers, options.folder / lib.name) for lib in found}
        for kind in options.classes:
            for ranks in options.ranks:
                case = Case(kernel, kind, ranks, programs)
                case.measure(found, options.times)
                print(case.line(names), flush=True)
                if names[1:]:
                    ratios.append(case.ratio(names[1:]))
    return ratios


def main():
    """Reads the command line, measures, sums up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words = lambda text: text.split(",")
    parser.add_argument("--prefix", type=pathlib.Path, default=HERE.parents[1] / "build/prefix")
    parser.add_argument("--classes", type=words, default=["S", "W"])
    parser.add_argument("--ranks", type=lambda text: [int(word) for word in text.split(",")], default=[1, 2, 4])
    parser.add_argument("--kernels", type=words, default=["ep", "is", "cg", "ft", "mg"])
    parser.add_argument("--times", type=int, default=5)
    options = parser.parse_args()
    options.prefix = options.prefix.resolve()
    options.folder = HERE.parents[1] / "build/nas"
    ratios = measure(options, libraries(options.prefix))
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        slower = sum(r < 1 for r in ratios)
        print(f"geometric mean against the best peer: {improvement(mean, 1):+.1f}%; slower on {slower} of {len(ratios)}")


if __name__ == "__main__":
    main()
