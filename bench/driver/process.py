"""Running a command with a time limit, and leaving nothing of it behind."""

import os
import signal
import subprocess
import time
import uuid
from dataclasses import dataclass

# Every process that descends from a measured command carries this variable; launchers put their ranks
# into sessions of their own, so a process group is not enough to find them after a time-out.
MARK = "TERN_BENCH_MARK"


@dataclass
class Outcome:
    """What became of a command."""

    output: str
    seconds: float
    failure: str | None  # None: it exited with 0 in time


def run(command, *, timeout, cores=None, environment=None, directory=None):
    """Runs `command` for at most `timeout` seconds on the processors `cores`."""
    mark = uuid.uuid4().hex
    env = dict(os.environ, **(environment or {}), **{MARK: mark})
    start = time.perf_counter()
    try:
        child = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=env, cwd=directory, text=True, errors="replace", start_new_session=True,
            preexec_fn=(lambda: os.sched_setaffinity(0, cores)) if cores else None,
        )
    except OSError as error:
        return Outcome("", 0.0, f"cannot start {command[0]}: {error}")
    try:
        output, _ = child.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        kill_marked(mark)
        return Outcome(rest_of_output(child), timeout, f"no end within {timeout:.0f} s")
    seconds = time.perf_counter() - start
    if child.returncode != 0:
        kill_marked(mark)
        return Outcome(output, seconds, f"exit status {child.returncode}: {last_line(output)}")
    return Outcome(output, seconds, None)


def rest_of_output(child):
    """What a killed command had printed. A survivor that holds the pipe open is not waited for."""
    try:
        return child.communicate(timeout=5)[0]
    except subprocess.TimeoutExpired:
        return ""


def last_line(text):
    """The last line that says something."""
    lines = [line.strip() for line in text.splitlines() if line.strip(" -")]
    return lines[-1][:200] if lines else "no output"


def kill_marked(mark):
    """Kills the processes that carry `mark`, until none is left."""
    for _ in range(20):
        pids = marked(mark)
        if not pids:
            return
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.05)


def marked(mark):
    """The processes with `mark` in their environment, zombies not counted."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if wanted in file.read().split(b"\0"):
                    found.append(int(name))
        except OSError:
            continue
    return found
