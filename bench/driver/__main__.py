"""Measures Tern, its peers and the raw limits of the machine side by side: see --help."""

import argparse
import datetime
import json
import sys
import time
from pathlib import Path

from . import book, files, machine, ratios, report
from .cases import RAW, Folders, Results, all_cases
from .process import run
from .systems import Absent, all_systems, install

PLOT_PACKAGE = "matplotlib"
DOCS = Path(__file__).resolve().parents[2] / "docs"


def parse_arguments():
    """The command line."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("prefix", type=Path, help="where Tern is installed")
    parser.add_argument("--build", type=Path, default=Path("build"), help="folder for peers and results")
    parser.add_argument("--only", help="systems, separated by commas: tern,mpich,openmpi,intel,raw")
    parser.add_argument("--cases", help="cases, separated by commas: " + ",".join(c.name for c in all_cases(False)))
    parser.add_argument("--quick", action="store_true", help="less of everything: under a minute")
    parser.add_argument("--cache-folder", default=Folders.cache, help="on a file system in memory (default /dev/shm)")
    parser.add_argument("--disk-folder", help="on a disk (default: the build folder)")
    parser.add_argument("--cores", type=int, default=2, help="processors to use (default 2, as the goals say)")
    return parser.parse_args()


def main():
    """Prepares, measures, reports, draws."""
    options = parse_arguments()
    build = options.build.resolve()
    cores = machine.choose_cores(options.cores)
    facts = machine.describe(cores)
    folders = Folders(options.cache_folder, options.disk_folder or str(build / "bench"))
    cases = chosen(all_cases(options.quick, folders), options.cases, lambda case: case.name, "case")
    systems = all_systems(build, cores, options.prefix.resolve())
    systems, absent = prepare(chosen(systems, options.only, lambda system: system.key, "system"), cases)
    start = time.monotonic()
    results = Results()
    for number, case in enumerate(cases, 1):
        measure_case(case, f"{number}/{len(cases)}", systems, results)
    facts["cache_folder"], facts["disk_folder"] = (machine.medium(folder) for folder in (folders.cache, folders.disk))
    is_whole = not (options.quick or options.only or options.cases)
    finish(build / "bench", results, systems, absent, facts, time.monotonic() - start, options.quick, is_whole)


def chosen(things, names, key, what):
    """The things that an option names; all without it."""
    if not names:
        return things
    wanted = names.split(",")
    unknown = set(wanted) - {key(thing) for thing in things}
    if unknown:
        sys.exit(f"bench: no {what} is called {', '.join(sorted(unknown))}; there are {', '.join(map(key, things))}")
    return [thing for thing in things if key(thing) in wanted]


def prepare(systems, cases):
    """Installs, and compiles what the cases run; returns who can take part, and why the others cannot."""
    present, absent = [], {}
    for system in systems:
        print(f"prepare {system.name} …", end=" ", flush=True)
        try:
            system.prepare({job.program for case in cases for job in case.jobs if is_for(job, system)})
            present.append(system)
            print(system.version)
        except Absent as reason:
            absent[system.name] = str(reason)
            print(f"absent: {reason}")
    return present, absent


def is_for(job, system):
    """Whether a system runs it."""
    return (system.key == RAW) == (job.kind == RAW)


def measure_case(case, number, systems, results):
    """Runs a case's jobs on all systems in turn (A B C, then B C A, …), one repetition after the other."""
    start = time.monotonic()
    print(f"[{number}] {case.title} …", end=" ", flush=True)
    failures = len(results.failures)
    for repetition in range(max(job.repetitions for job in case.jobs)):
        if time.monotonic() - start > case.seconds:
            break
        turn = repetition % max(len(systems), 1)
        for job in case.jobs:
            for system in systems[turn:] + systems[:turn]:
                if repetition < job.repetitions and is_for(job, system):
                    measure_job(job, system, results)
    print(f"{time.monotonic() - start:.0f} s")
    for failure in results.failures[failures:]:
        print(f"    {failure['system']}, {failure['program']} on {failure['ranks']} ranks: {failure['why']}")


def measure_job(job, system, results):
    """One run; a system that failed a job once is not asked for it again."""
    if any((f["system"], f["program"], f["ranks"]) == (system.key, job.label, job.ranks) for f in results.failures):
        return
    if job.kind != RAW and job.tcp and (why := system.why_not_tcp()):
        return results.fail(system.key, job, why)
    outcome = system.run(job.ranks, job.program, *job.arguments, timeout=job.timeout, tcp=job.tcp)
    results.add(system.key, job, outcome)


def finish(folder, results, systems, absent, facts, seconds, quick, is_whole):
    """Writes JSON, Markdown and plots, and prints the tables. A whole run gets a page of the book."""
    folder.mkdir(parents=True, exist_ok=True)
    date = datetime.date.today().isoformat()
    names = {system.key: system.name for system in systems}
    rows = [report.judge(goal, results, names) for goal in report.goals(1 if quick else 5)]
    rows += ratios.goal_rows(results)
    file_rows = [report.judge(goal, results, names) for goal in files.goals()]
    text = report.text(results, systems, absent, facts, date, seconds, rows, ratios.ratio_tables(results))
    (folder / "results.md").write_text(text, encoding="utf-8")
    page = files.page(results, systems, facts, date, file_rows)
    (folder / "files.md").write_text(page, encoding="utf-8")
    document = {"date": date, "machine": facts, "seconds": round(seconds), "quick": quick, "absent": absent,
                "systems": {s.key: {"name": s.name, "version": s.version} for s in systems},
                "goals": rows + file_rows, "results": results.rows(), "failures": results.failures}
    (folder / "results.json").write_text(json.dumps(document, indent=1), encoding="utf-8")
    print("\n" + text + "\n" + page)
    print(f"{folder}/results.md\n{folder}/files.md\n{folder}/results.json")
    if is_whole:
        print(book.write(DOCS, facts, date, systems, seconds, rows + file_rows))
    draw(folder)


def draw(folder):
    """Draws with matplotlib from a virtual environment of its own, if it can be had."""
    home = folder.parent / "peers" / "plot"
    try:
        install(home, PLOT_PACKAGE)
    except Absent as reason:
        print(f"no plots: {reason}")
        return
    script = Path(__file__).resolve().parent / "plot.py"
    outcome = run([home / "bin" / "python3", script, folder / "results.json", folder], timeout=120)
    print(f"no plots: {outcome.failure}" if outcome.failure else outcome.output, end="")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
