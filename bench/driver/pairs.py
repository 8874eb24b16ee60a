"""Compares Tern with peers, or with itself before a change, on one program: systems take turns within seconds, many rounds.

What else a machine does changes within minutes. So a round asks every system once, and what counts is the smallest time of each system
and the median of the ratios within a round.

    PYTHONPATH=bench python3 -m driver.pairs build/prefix --peers openmpi,intel --ranks 2,8 collectives 0.02 scan:8,gather
    PYTHONPATH=bench python3 -m driver.pairs build/prefix --before build/old --ranks 2 latency 0.02 65536
"""

import argparse
import sys
import time
from pathlib import Path

from . import machine
from .cases import RATES, Job, Results
from .report import point_title, table
from .systems import Absent, Tern, all_systems


class Before(Tern):
    """An earlier build."""

    key, name = "before", "before"


def parse_arguments():
    """The command line."""
    parser = argparse.ArgumentParser(prog="pairs", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prefix", type=Path, help="where Tern is installed")
    parser.add_argument("--before", type=Path, help="where an earlier build is installed")
    parser.add_argument("--build", type=Path, default=Path("build"), help="folder for peers and programs")
    parser.add_argument("--peers", default="", help="peers, separated by commas: mpich,openmpi,intel")
    parser.add_argument("--ranks", default="2", help="numbers of ranks, separated by commas")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=600, help="no further run begins after this")
    parser.add_argument("--tcp", action="store_true", help="over TCP on loop-back")
    parser.add_argument("program", help="a source in bench/, without its ending")
    parser.add_argument("arguments", nargs="*")
    return parser.parse_args()


def main():
    """Prepares, measures in turns, prints a table."""
    options = parse_arguments()
    build, cores = options.build.resolve(), machine.choose_cores(2)
    wanted = {"tern", *filter(None, options.peers.split(","))}
    systems = [system for system in all_systems(build, cores, options.prefix.resolve()) if system.key in wanted]
    if options.before:
        systems.append(Before(build, cores, options.before.resolve()))
    for system in systems:
        try:
            system.prepare({options.program})
        except Absent as reason:
            sys.exit(f"{system.name}: {reason}")
    ranks = [int(number) for number in options.ranks.split(",")]
    results = measure(options, systems, ranks)
    print(table(["what", *(f"{system.name}, µs" for system in systems), *(f"÷ {system.name}" for system in systems[1:])],
                [row(key, systems, results) for key in sorted(results.samples)]))
    for failure in results.failures:
        print(failure)


def measure(options, systems, ranks):
    """All rounds: in each, the systems in another order."""
    results, began = Results(), time.monotonic()
    for number in range(options.rounds):
        turn = number % len(systems)
        for count in ranks:
            job = Job(options.program, count, tuple(options.arguments), timeout=60, tcp=options.tcp)
            if time.monotonic() - began > options.seconds:
                return results
            for system in systems[turn:] + systems[:turn]:
                outcome = system.run(count, job.program, *job.arguments, timeout=job.timeout, tcp=job.tcp)
                results.add(system.key, job, outcome)
    return results


def row(key, systems, results):
    """Each system's best, and Tern's part of each other's: of the best, and the median of the rounds."""
    metric, ranks, parameter = key
    bests = [results.get(system.key, *key) for system in systems]
    cells = [f"{pair[0] * (1 if metric in RATES else 1e6):.3g}" if pair else "–" for pair in bests]
    for system, pair in zip(systems[1:], bests[1:]):
        paired = results.paired("tern", system.key, *key)
        cells.append(f"{bests[0][0] / pair[0]:.2f} / {paired:.2f}" if paired else "–")
    return [f"{point_title(metric, parameter)}, {ranks} ranks", *cells]


if __name__ == "__main__":
    main()
