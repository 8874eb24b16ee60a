"""The tables: goals with their ratios, and the numbers of every system."""

from dataclasses import dataclass

from .cases import FURTHER_COLLECTIVES, RATES, TCP_OVERSUBSCRIBED_RANKS, TCP_SIZES, TYPE_BLOCKS, TYPES, WINDOW_RANKS

# Where the peers over TCP are compared with.
TCP_PEER_SIZES = (8, 64 << 10, 1 << 20, 16 << 20)

PEERS = ("mpich", "openmpi", "intel")

# Of what a message takes, these have goals.
LATENCY_SIZES = tuple(1 << power for power in range(3, 23))

# What the names of metrics about files begin with; they have a page of their own.
FILE_MEDIA = ("cache_", "disk_")


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
    return [
        Goal("one-way latency, 8 B, against two flags", ("latency", 2, 8), 1.5, "raw", ("raw_flags", 2, 8)),
        Goal("one-way latency, 8 B, against the best peer", ("latency", 2, 8), 1.0, "peers"),
        Goal("message rate, 8 B, windows of 64", ("rate_window", 2, 8), 2.0, "peers", unit="rate"),
        Goal("message rate, 8 B, blocking calls", ("rate_blocking", 2, 8), 2.0, "peers", unit="rate"),
        *(Goal(f"one-way time, {size_name(size)}, against the best peer", ("latency", 2, size), 1.0, "peers")
          for size in LATENCY_SIZES),
        *(Goal(f"one-way time, {size_name(size)}, against a bare exchange", ("latency", 2, size), 1.15, "raw",
               ("raw_cells_shared", 2, size)) for size in LATENCY_SIZES if 32 << 10 <= size <= 1 << 20),
        Goal("16,384 posted receives, against an empty queue", ("queue_posted", 2, 16384), 1.3, "self",
             ("queue_empty", 2, 16384)),
        *(Goal(f"barrier, {ranks} ranks", ("barrier", ranks, 0), 0.7, "peers") for ranks in (8, 16)),
        Goal(f"CPU of a rank blocked for {idle_seconds} s", ("idle_cpu", 2, idle_seconds), 0.01 * idle_seconds),
        Goal("first message after that wait", ("idle_first", 2, idle_seconds), 100e-6),
        Goal(f"CPU of a rank that sleeps {idle_seconds} s and has a window, over TCP", ("tcp_idle_window_cpu", 2, idle_seconds),
             0.001 * idle_seconds),
        Goal("`mpirun -n 2` of hello", ("start", 2, 0), 0.01),
        Goal("`mpirun -n 32` of hello", ("start", 32, 0), 0.1),
        Goal("`MPI_Reduce_local`, 64 MiB, against a plain loop", ("reduce_local", 1, 64 << 20), 1.2, "raw",
             ("raw_reduce_local", 1, 64 << 20)),
        Goal("memory of a rank, 32 ranks", ("memory_total", 32, 32), 2 * 2**20, unit="bytes"),
        *window_goals(),
        *type_goals(),
        *partition_goals(),
        *(Goal(f"spawn of {count}, a message of each, and leaving", ("spawn_and_leave", 1, count), limit)
          for count, limit in ((1, 0.01), (4, 0.015), (16, 0.04))),
        *tcp_goals(),
    ]


def window_goals():
    """The goals of one-sided communication."""
    def peers(what, metric, parameter, limit=0.7, ranks=2):
        return Goal(what, (metric, ranks, parameter), limit, "peers")

    def raw(what, metric, parameter, limit, bare):
        return Goal(f"{what}, against bare memory", (metric, 2, parameter), limit, "raw", (bare, 1, parameter))

    return [
        peers("put 8 B and flush", "put", 8),
        peers("get 8 B and flush", "get", 8),
        peers("puts of 8 B in a row, each", "put_row", 8),
        peers("accumulate 8 B and flush", "accumulate", 8),
        peers("fetch-and-op and flush", "fetch_and_op", 8),
        peers("compare-and-swap and flush", "compare_and_swap", 8),
        peers("lock, put 8 B, unlock", "lock_put_unlock", 8),
        peers("lock all, unlock all", "lock_all_unlock_all", 0),
        *(peers(f"fence, {ranks} ranks", "fence", 0, ranks=ranks) for ranks in WINDOW_RANKS),
        *(peers(f"post, start, complete, wait, {ranks} ranks", "post_start_complete_wait", 0, ranks=ranks)
          for ranks in WINDOW_RANKS),
        *(peers(f"lock, put 8 B, unlock of the next rank, {ranks} ranks at a time", "each_lock_put_unlock", 8, ranks=ranks)
          for ranks in WINDOW_RANKS),
        *(peers(f"lock all, unlock all, {ranks} ranks at a time", "each_lock_all_unlock_all", 0, ranks=ranks)
          for ranks in WINDOW_RANKS),
        *(peers(f"{way} {size_name(size)} and flush, `MPI_Win_create`", f"created_{way}", size, limit)
          for size, limit in ((8, 0.8), (1 << 20, 1.0)) for way in ("put", "get")),
        raw("put 8 B and flush", "put", 8, 1.3, "raw_put"),
        raw("get 8 B and flush", "get", 8, 1.3, "raw_get"),
        raw("fetch-and-op and flush", "fetch_and_op", 8, 1.3, "raw_fetch_and_op"),
        raw("compare-and-swap and flush", "compare_and_swap", 8, 1.3, "raw_compare_and_swap"),
        *(raw(f"{way} {size_name(size)}", way, size, 1.1, f"raw_{way}")
          for size in (64 << 10, 1 << 20, 4 << 20) for way in ("put", "get")),
        *(goal for ranks in WINDOW_RANKS[:2] for goal in contention_goals(ranks)),
        Goal("accumulate 1 MiB of doubles, against `MPI_Reduce_local`", ("accumulate", 2, 1 << 20), 1.3, "self",
             ("reduce_local", 1, 1 << 20)),
        Goal("`MPI_Win_allocate` and free, 8 ranks", ("win_allocate_free", 8, 0), 100e-6),
        *tcp_window_goals(),
    ]


def contention_goals(ranks):
    """The goals of elements that ranks combine at the same time, against bare atomic instructions of as many processes."""
    def bare(what, metric, limit, raw):
        return Goal(f"{what}, {ranks} ranks, against bare instructions", (metric, ranks, 8), limit, "raw", (raw, ranks, 8))

    return [
        bare("fetch-and-op of one element", "contended_fetch_and_op", 1.3, "raw_contended_fetch_and_op"),
        bare("compare-and-swap of one element", "contended_compare_and_swap", 1.3, "raw_contended_compare_and_swap"),
        bare("accumulate to one element", "contended_accumulate", 1.5, "raw_contended_fetch_and_op"),
        bare("accumulate to an element for each", "disjoint_accumulate", 1.5, "raw_disjoint_fetch_and_op"),
    ]


def tcp_window_goals():
    """The goals of windows over TCP on loop-back. A put and its flush are a round trip: two times one way."""
    return [
        Goal("TCP put of 8 B and flush, in one-way times of a polled socket", ("tcp_put", 2, 8), 2 * 1.15, "raw",
             ("raw_tcp_poll", 2, 8)),
        Goal("TCP put of 4 MiB and flush, against a polled socket", ("tcp_put", 2, 4 << 20), 1 / 0.97, "raw",
             ("raw_tcp_poll", 2, 4 << 20)),
        Goal("TCP puts of 8 B in a row, each", ("tcp_put_row", 2, 8), 0.5e-6),
    ]


def type_goals():
    """The goals of data with gaps."""
    found = []
    for kind in TYPES:
        for size in TYPE_BLOCKS:
            what, metric = f"64 KiB by a type, {kind}, blocks of {size} B", (f"type_{kind}", 2, size)
            found.append(Goal(f"{what}, against packing by hand", metric, 1.1, "self", (f"hand_{kind}", 2, size)))
            found.append(Goal(f"{what}, against the best peer", metric, 1.0, "peers"))
    return found


def partition_goals():
    """The goals of partitioned communication."""
    found = [Goal("`MPI_Pready`", ("pready", 2, 8), 40e-9)]
    for size in (4 << 10, 64 << 10):
        what = f"16 partitions of {size_name(size)}"
        found.append(Goal(f"{what}, in times of one message", ("partitions_one_message", 2, size), 1.05, unit="ratio"))
        found.append(Goal(f"{what}, not hidden behind computation", ("partitions_exposed", 2, size), 0.2, unit="share"))
    return found


def tcp_goals():
    """The goals over TCP on loop-back. A throughput of 0.97 is a time of 1.03."""
    raw = "raw_tcp_poll"
    oversubscribed = ("tcp_latency", TCP_OVERSUBSCRIBED_RANKS, 8)
    return [
        Goal("TCP one-way latency, 8 B, against a polled socket", ("tcp_latency", 2, 8), 1.15, "raw", (raw, 2, 8)),
        *(Goal(f"TCP one-way time, {size_name(size)}, against a polled socket", ("tcp_latency", 2, size),
               1 / 0.97, "raw", (raw, 2, size)) for size in TCP_SIZES if size >= 64 << 10),
        Goal(f"TCP one-way latency, 8 B, {TCP_OVERSUBSCRIBED_RANKS} ranks, against a blocking socket", oversubscribed, 1.15, "raw",
             ("raw_tcp_block", TCP_OVERSUBSCRIBED_RANKS, 8)),
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
    ratios = ratios_of(goal, value, reference, results) if goal.reference else list(value)
    if goal.reference:
        row["ratio"] = f"{ratios[0]:.2f} / {ratios[1]:.2f}"
    row["best"], row["median"] = ratios
    row["verdict"] = verdict(ratios, goal)
    return row


def ratios_of(goal, value, reference, results):
    """The ratio of the bests, and that of the medians: with peers, which take turns, within each repetition."""
    if goal.reference == "peers":
        return value[0] / reference[0], paired_with_peers(goal.metric, results)
    return [v / r for v, r in zip(value, reference)]


def paired_with_peers(metric, results):
    """Tern against the peer that is best in the median of the ratios within a repetition."""
    choose = min if metric[0] in RATES else max
    return choose(ratio for peer in PEERS if (ratio := results.paired("tern", peer, *metric)) is not None)


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
        "share": [(0.01, "%")],
        "ratio": [(1, "×")],
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


# Metrics whose parameter is bytes, beside `TITLES`.
OF_BYTES = {
    "latency", "tcp_latency", "partitions_one_message", "partitions_exposed", "partitions_exposed_tight", *(metric for metric, _ in FURTHER_COLLECTIVES),
    *(f"{way}{kind}{access}" for way in ("", "tcp_") for kind in ("", "created_")
      for access in ("put", "get", "put_row", "rput", "rget", "accumulate", "rget_accumulate", "fetch_and_op", "compare_and_swap")),
}

UNITS = {**dict.fromkeys(RATES, "rate"), "memory_total": "bytes",
         "partitions_one_message": "ratio", "partitions_exposed": "share", "partitions_exposed_tight": "share",
         "memory_heap": "bytes", "memory_segment": "bytes", "memory_library": "bytes"}

TITLES = {"latency": "one-way", "rate_window": "rate, windows of 64", "rate_blocking": "rate, blocking calls",
          "queue_empty": "one-way, empty queue", "queue_posted": "one-way, posted receives:",
          "queue_unexpected": "one-way, unexpected messages:", "idle_cpu": "CPU while blocked, seconds:",
          "idle_window_cpu": "CPU of a sleeper with a window, seconds:",
          "tcp_idle_cpu": "CPU while blocked over TCP, seconds:",
          "tcp_idle_window_cpu": "CPU of a sleeper with a window over TCP, seconds:",
          "idle_first": "first message after it", "idle_first_short": "first message after 0.3 s",
          "tcp_latency": "one-way over TCP", "tcp_rate_window": "rate over TCP, windows of 64",
          "tcp_rate_blocking": "rate over TCP, blocking calls",
          "start": "start and end of hello", "spawn_and_leave": "spawn and leaving, processes:",
          "threads": "round of exchanges, threads a rank:", "memory_total": "memory a rank, most / mean",
          "memory_heap": "… of that private", "memory_segment": "… of that shared segments",
          "memory_library": "… of that library files"}

RAW_TWINS = {**{metric: f"raw_{metric}" for metric in ("contended_fetch_and_op", "contended_compare_and_swap")},
             "contended_accumulate": "raw_contended_fetch_and_op", "disjoint_accumulate": "raw_disjoint_fetch_and_op",
             "latency": "raw_copy_both", "barrier": "raw_barrier_yield", "start": "raw_spawn",
             "rate_window": "raw_ring_rate", "tcp_latency": "raw_tcp_poll"}


def system_table(results, systems):
    """Every measured point of every system, as Markdown."""
    keys = [s.key for s in systems if s.key != "raw"]
    points = sorted({key for key in results.samples if not key[0].startswith(("raw_", *FILE_MEDIA))}, key=point_order)
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
    if metric == "latency" and (cells := results.get("raw", "raw_cells_shared", 2, parameter)):
        return min(cells, results.get("raw", "raw_copy_both", 2, parameter) or cells)
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
    if metric.startswith(("type_", "hand_")):
        return f"{title}, blocks of {parameter} B"
    if metric in OF_BYTES:
        return f"{title}, {size_name(parameter)}"
    return title


def size_name(size):
    """Bytes, as people say them."""
    for scale, name in ((2**20, "MiB"), (2**10, "KiB")):
        if size >= scale and size % scale == 0:
            return f"{size // scale} {name}"
    return f"{size} B"


def text(results, systems, absent, facts, date, seconds, rows, ratios):
    """The whole report; `ratios` is the tables of groups of cases."""
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
