"""The tables: goals with their ratios, and the numbers of every system."""

from dataclasses import dataclass

from .cases import RATES, TCP_CROWDED_RANKS, TCP_SIZES

# Where the peers over TCP are compared with.
TCP_PEER_SIZES = (8, 64 << 10, 1 << 20, 16 << 20)

PEERS = ("mpich", "openmpi", "intel")


@dataclass
class Goal:
    """A number to reach: Tern's value, divided by the reference where there is one, against a limit."""

    what: str
    metric: tuple  # (metric, ranks, parameter) of Tern
    limit: float
    reference: str = ""  # "peers", "raw", "self", or "" for an absolute limit
    against: tuple = ()  # the metric of the reference, if it is another one
    unit: str = "seconds"


def goals(idle_seconds):
    """The goals."""
    size_names = {64 << 10: "64 KiB", 1 << 20: "1 MiB", 4 << 20: "4 MiB"}
    return [
        Goal("one-way latency, 8 B, against two flags", ("latency", 2, 8), 1.5, "raw", ("raw_flags", 2, 8)),
        Goal("one-way latency, 8 B, against the best peer", ("latency", 2, 8), 1.0, "peers"),
        Goal("message rate, 8 B, windows of 64", ("rate_window", 2, 8), 2.0, "peers", unit="rate"),
        Goal("message rate, 8 B, blocking calls", ("rate_blocking", 2, 8), 2.0, "peers", unit="rate"),
        *(Goal(f"one-way time, {name}", ("latency", 2, size), 0.6, "peers") for size, name in size_names.items()),
        Goal("16,384 posted receives, against an empty queue", ("queue_posted", 2, 16384), 1.3, "self",
             ("queue_empty", 2, 16384)),
        *(Goal(f"barrier, {ranks} ranks", ("barrier", ranks, 0), 0.7, "peers") for ranks in (8, 16)),
        Goal(f"CPU of a rank blocked for {idle_seconds} s", ("idle_cpu", 2, idle_seconds), 0.01 * idle_seconds),
        Goal("first message after that wait", ("idle_first", 2, idle_seconds), 100e-6),
        Goal("`mpirun -n 2` of hello", ("start", 2, 0), 0.01),
        Goal("`mpirun -n 32` of hello", ("start", 32, 0), 0.1),
        Goal("`MPI_Reduce_local`, 64 MiB, against a plain loop", ("reduce_local", 1, 64 << 20), 1.2, "raw",
             ("raw_reduce_local", 1, 64 << 20)),
        Goal("memory of a rank, 32 ranks", ("memory_total", 32, 32), 2 * 2**20, unit="bytes"),
        *tcp_goals(),
    ]


def tcp_goals():
    """The goals over TCP on loop-back. A throughput of 0.97 is a time of 1.03."""
    raw = "raw_tcp_poll"
    crowded = ("tcp_latency", TCP_CROWDED_RANKS, 8)
    return [
        Goal("TCP one-way latency, 8 B, against a polled socket", ("tcp_latency", 2, 8), 1.15, "raw", (raw, 2, 8)),
        *(Goal(f"TCP one-way time, {size_name(size)}, against a polled socket", ("tcp_latency", 2, size),
               1 / 0.97, "raw", (raw, 2, size)) for size in TCP_SIZES if size >= 64 << 10),
        Goal(f"TCP one-way latency, 8 B, {TCP_CROWDED_RANKS} ranks, against a blocking socket", crowded, 1.15, "raw",
             ("raw_tcp_block", TCP_CROWDED_RANKS, 8)),
        Goal("TCP message rate, 8 B, windows of 64", ("tcp_rate_window", 2, 8), 1e6, unit="rate"),
        *(Goal(f"TCP one-way time, {size_name(size)}, against the best peer", ("tcp_latency", 2, size), 1.0, "peers")
          for size in TCP_PEER_SIZES),
        Goal("TCP message rate, 8 B, windows of 64, against the best peer", ("tcp_rate_window", 2, 8), 1.0, "peers",
             unit="rate"),
    ]


def judge(goal, results, names):
    """One row of the goal table."""
    value = results.get("tern", *goal.metric)
    reference, who = find_reference(goal, results)
    row = {"what": goal.what, "goal": goal_text(goal), "value": pair(value, goal.unit),
           "reference": "–", "ratio": "–", "verdict": "not measured", "best": None, "median": None}
    if reference:
        row["reference"] = f"{pair(reference, goal.unit)} {names.get(who, '')}".strip()
    if value is None or (goal.reference and reference is None):
        return row
    ratios = [v / r for v, r in zip(value, reference)] if goal.reference else list(value)
    if goal.reference:
        row["ratio"] = f"{ratios[0]:.2f} / {ratios[1]:.2f}"
    row["best"], row["median"] = ratios
    row["verdict"] = verdict(ratios, goal)
    return row


def find_reference(goal, results):
    """The reference's (best, median), and which system it is."""
    metric = goal.against or goal.metric
    if goal.reference == "raw":
        return results.get("raw", *metric), "raw"
    if goal.reference == "self":
        return results.get("tern", *metric), ""
    if goal.reference == "peers":
        return best_peer(metric, results)
    return None, ""


def best_peer(metric, results):
    """The best of the peers' bests and the best of their medians: no peer is ahead of it. Named by the best."""
    found = {peer: value for peer in PEERS if (value := results.get(peer, *metric))}
    if not found:
        return None, ""
    choose = max if metric[0] in RATES else min
    bests, medians = zip(*found.values())
    return (choose(bests), choose(medians)), choose(found, key=lambda peer: found[peer][0])


def verdict(ratios, goal):
    """Met means by the best and by the median."""
    more = goal.metric[0] in RATES
    met = [ratio >= goal.limit if more else ratio <= goal.limit for ratio in ratios]
    return "met" if all(met) else "met at best, not in the median" if met[0] else "missed"


def goal_text(goal):
    """The limit as a person writes it."""
    sign = "≥" if goal.metric[0] in RATES else "≤"
    limit = f"{goal.limit:.3g} ×" if goal.reference else quantity(goal.limit, goal.unit)
    return f"{sign} {limit}"


def pair(value, unit):
    """Best and median."""
    return "–" if value is None else f"{quantity(value[0], unit)} / {quantity(value[1], unit)}"


def quantity(value, unit):
    """A value with a unit that suits its size."""
    scales = {
        "seconds": [(1, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")],
        "rate": [(1e6, "M/s"), (1e3, "k/s"), (1, "/s")],
        "bytes": [(2**20, "MiB"), (2**10, "KiB"), (1, "B")],
    }[unit]
    scale, name = next((s for s in scales if abs(value) >= s[0]), scales[-1])
    return f"{value / scale:.3g} {name}"


def table(header, rows):
    """A Markdown table whose columns line up in plain text, too."""
    widths = [max(len(str(row[i])) for row in [header, *rows]) for i in range(len(header))]
    lines = [header, ["-" * width for width in widths], *rows]
    return "\n".join("| " + " | ".join(str(cell).ljust(width) for cell, width in zip(line, widths)) + " |" for line in lines)


def goal_table(rows):
    """The goals, as Markdown."""
    return table(["what (best / median)", "goal", "Tern", "reference", "ratio", "verdict"],
                 [[r["what"], r["goal"], r["value"], r["reference"], r["ratio"], r["verdict"]] for r in rows])


UNITS = {**dict.fromkeys(RATES, "rate"), "memory_total": "bytes",
         "memory_heap": "bytes", "memory_segment": "bytes", "memory_library": "bytes"}

TITLES = {"latency": "one-way", "rate_window": "rate, windows of 64", "rate_blocking": "rate, blocking calls",
          "queue_empty": "one-way, empty queue", "queue_posted": "one-way, posted receives:",
          "queue_unexpected": "one-way, unexpected messages:", "idle_cpu": "CPU while blocked, seconds:",
          "idle_first": "first message after it", "idle_first_short": "first message after 0.3 s",
          "tcp_latency": "one-way over TCP", "tcp_rate_window": "rate over TCP, windows of 64",
          "tcp_rate_blocking": "rate over TCP, blocking calls",
          "start": "start and end of hello", "threads": "round of exchanges, threads a rank:", "memory_total": "memory a rank, most / mean",
          "memory_heap": "… of that private", "memory_segment": "… of that shared segments",
          "memory_library": "… of that library files"}

RAW_TWINS = {"latency": "raw_copy_both", "barrier": "raw_barrier_yield", "start": "raw_spawn",
             "rate_window": "raw_ring_rate", "tcp_latency": "raw_tcp_poll"}


def system_table(results, systems):
    """Every measured point of every system, as Markdown."""
    keys = [s.key for s in systems if s.key != "raw"]
    points = sorted({key for key in results.samples if not key[0].startswith("raw_")}, key=point_order)
    rows = []
    for metric, ranks, parameter in points:
        unit = UNITS.get(metric, "seconds")
        cells = [pair(results.get(key, metric, ranks, parameter), unit) for key in keys]
        rows.append([point_title(metric, parameter), ranks, *cells, pair(raw_twin(results, metric, ranks, parameter), unit)])
    return table(["best / median", "ranks", *(s.name for s in systems if s.key != "raw"), "raw"], rows)


def raw_twin(results, metric, ranks, parameter):
    """The raw limit beside a point, where one was measured."""
    if metric == "latency" and parameter == 8:
        return results.get("raw", "raw_flags", 2, 8)
    if metric == "tcp_latency" and ranks > 2:
        return results.get("raw", "raw_tcp_block", ranks, parameter)
    twin = RAW_TWINS.get(metric, "")
    return results.get("raw", twin, ranks, ranks if metric in ("barrier", "start") else parameter)


def point_order(key):
    """Metrics in the order of TITLES, collectives last; then ranks, then parameter."""
    order = list(TITLES)
    metric, ranks, parameter = key
    return (order.index(metric) if metric in order else len(order), metric, ranks, parameter)


def point_title(metric, parameter):
    """What a row is about."""
    title = TITLES.get(metric, metric)
    if title.endswith(":"):
        return f"{title[:-1]} {parameter:,}"
    if metric in ("latency", "tcp_latency", "bcast", "allreduce", "alltoall", "allgather"):
        return f"{title}, {size_name(parameter)}"
    return title


def size_name(size):
    """Bytes, as people say them."""
    for scale, name in ((2**20, "MiB"), (2**10, "KiB")):
        if size >= scale and size % scale == 0:
            return f"{size // scale} {name}"
    return f"{size} B"


def text(results, systems, absent, facts, date, seconds, rows, ratios):
    """The whole report; `ratios` is the table of collectives."""
    parts = [f"Measured {date} in {seconds:.0f} s on {facts['cpu']}, cores {facts['cores_used']} of {facts['cores']}, "
             f"{facts['memory_gib']} GiB, Linux {facts['kernel']}, {facts['system']}; "
             f"load at the start {facts['load_at_start']}.", ""]
    parts += [f"- {s.name}: {s.version}" for s in systems]
    parts += [f"- {name}: absent, {why}" for name, why in absent.items()]
    parts += ["", goal_table(rows), "", *([ratios, ""] if ratios else []), system_table(results, systems)]
    if results.failures:
        parts += ["", "Failures:", ""]
        parts += [f"- {f['system']}, {f['program']} on {f['ranks']} ranks: {f['why']}" for f in results.failures]
    return "\n".join(parts) + "\n"
