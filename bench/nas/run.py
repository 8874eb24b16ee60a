#!/usr/bin/env python3
"""Runs the kernels of this folder with Tern and with the other MPI libraries that have a Fortran compiler wrapper here.

    bench/nas/run.py [--prefix DIR] [--classes S,W] [--ranks 1,2,4] [--times 3] [--kernels ep,is,cg,ft,mg]

Debian's packages mpich and openmpi are found by their names (mpif90.mpich, mpif90.openmpi). Runs of all libraries take
turns and each kernel's best counts, as the papers have it; a kernel whose result is not the published one ends the run.
"""

import argparse
import math
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
RUN_LIMIT_S = 300


class Library:
    """An MPI library: how to compile with it, and how to start its programs."""

    def __init__(self, name, fortran, c, launcher):
        self.name, self.fortran, self.c, self.launcher = name, fortran, c, launcher

    def build(self, kernel, folder):
        """Compiles a kernel; gives the program."""
        folder.mkdir(parents=True, exist_ok=True)
        program = folder / kernel
        if kernel == "is":
            command = [self.c, "-O3", "-o", program, HERE / "is.c"]
        else:
            command = [self.fortran, "-O3", "-J", folder, "-o", program, HERE / "nas.f90", HERE / f"{kernel}.f90"]
        subprocess.run(command, check=True, cwd=folder)
        return program

    def run(self, program, kind, ranks):
        """Mop/s of one run."""
        command = [*self.launcher, "-n", str(ranks), str(program), kind]
        done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_LIMIT_S)
        words = done.stdout.split()
        if done.returncode != 0 or "verified" not in words or words[words.index("verified") + 1] != "yes":
            sys.exit(f"{self.name}: {' '.join(command)} failed:\n{done.stdout}{done.stderr}")
        return float(words[words.index("Mop/s") + 1])


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


def improvement(mine, other):
    """Per cent by which Tern is faster."""
    return (mine / other - 1) * 100


def measure(options, found):
    """Prints the table; gives the ratios to the best peer."""
    programs = {
        (library.name, kernel): library.build(kernel, options.folder / library.name)
        for library in found
        for kernel in options.kernels
    }
    peers = found[1:]
    print(f"{'kernel':<10}{'ranks':>6}{'Tern':>12}" + "".join(f"{peer.name:>12}{'':>9}" for peer in peers) + "   (Mop/s)")
    ratios = []
    for kernel in options.kernels:
        for kind in options.classes:
            for ranks in options.ranks:
                best = {library.name: 0.0 for library in found}
                for _ in range(options.times):
                    for library in found:
                        speed = library.run(programs[library.name, kernel], kind, ranks)
                        best[library.name] = max(best[library.name], speed)
                line = f"{kernel.upper() + ' ' + kind:<10}{ranks:>6}{best['Tern']:>12.1f}"
                for peer in peers:
                    line += f"{best[peer.name]:>12.1f}{improvement(best['Tern'], best[peer.name]):>+8.1f}%"
                print(line, flush=True)
                if peers:
                    ratios.append(best["Tern"] / max(best[peer.name] for peer in peers))
    return ratios


def main():
    """Reads the command line, measures, sums up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words = lambda text: text.split(",")
    parser.add_argument("--prefix", type=pathlib.Path, default=HERE.parents[1] / "build/prefix")
    parser.add_argument("--classes", type=words, default=["S", "W"])
    parser.add_argument("--ranks", type=lambda text: [int(word) for word in text.split(",")], default=[1, 2, 4])
    parser.add_argument("--kernels", type=words, default=["ep", "is", "cg", "ft", "mg"])
    parser.add_argument("--times", type=int, default=3)
    options = parser.parse_args()
    options.prefix = options.prefix.resolve()
    options.folder = HERE.parents[1] / "build/nas"
    ratios = measure(options, libraries(options.prefix))
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"geometric mean against the best peer: {improvement(mean, 1):+.1f}%; slower on {sum(r < 1 for r in ratios)} of {len(ratios)}")


if __name__ == "__main__":
    main()
