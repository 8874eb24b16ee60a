"""What this machine is, and which processors the benchmark uses."""

import os
import platform


def describe(cores):
    """The facts that a reader needs to judge the numbers."""
    return {
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "cores_used": sorted(cores),
        "kernel": platform.release(),
        "system": system_name(),
        "memory_gib": round(memory_kib() / 2**20, 1),
        "load_at_start": round(os.getloadavg()[0], 2),
    }


def choose_cores(count):
    """`count` processors of those we may use, on different physical cores first."""
    allowed = sorted(os.sched_getaffinity(0))
    firsts, seconds, seen = [], [], set()
    for cpu in allowed:
        core = siblings(cpu)
        (seconds if core in seen else firsts).append(cpu)
        seen.add(core)
    return set((firsts + seconds)[:count])


def siblings(cpu):
    """The hardware threads that share a core with `cpu`, as the kernel lists them."""
    path = f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"
    return read(path).strip() or str(cpu)


def cpu_model():
    """The processor's name."""
    for line in read("/proc/cpuinfo").splitlines():
        if line.startswith(("model name", "Model")):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def system_name():
    """The distribution's name."""
    for line in read("/etc/os-release").splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.split("=", 1)[1].strip('"')
    return platform.system()


def memory_kib():
    """Physical memory."""
    for line in read("/proc/meminfo").splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1])
    return 0


def loopback_bytes():
    """Bytes that the loop-back device has received since the machine was started."""
    for line in read("/proc/net/dev").splitlines():
        name, _, counters = line.partition(":")
        if name.strip() == "lo":
            return int(counters.split()[0])
    return 0


def medium(folder):
    """The folder's file system, for a reader who wants to know what was measured."""
    found, kind = "", "unknown"
    for line in read("/proc/mounts").splitlines():
        words = line.split()
        if len(words) > 2 and (os.path.realpath(folder) + "/").startswith(words[1].rstrip("/") + "/") and len(words[1]) >= len(found):
            found, kind = words[1], words[2]
    return f"{folder} ({kind})"


def read(path):
    """A small file's text, or nothing."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
