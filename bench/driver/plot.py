"""Draws the curves and bars of results.json with matplotlib: plot.py RESULTS.json FOLDER."""

import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  the backend comes first

COLOURS = {"tern": "#d1495b", "mpich": "#2e6f95", "openmpi": "#edae49", "intel": "#66a182", "raw": "#8d96a3"}
NAMES = {"tern": "Tern", "mpich": "MPICH", "openmpi": "Open MPI", "intel": "Intel MPI", "raw": "raw limit"}
STYLE = {
    "font.size": 10, "axes.grid": True, "axes.axisbelow": True, "grid.color": "#e4e7eb", "axes.edgecolor": "#8d96a3",
    "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False, "svg.fonttype": "none",
    "figure.facecolor": "white", "axes.titleweight": "bold", "axes.titlelocation": "left",
}


class Data:
    """The rows of results.json, by system."""

    def __init__(self, rows):
        self.rows = rows

    def curve(self, system, metric, ranks=2):
        """[(parameter, best)], sorted."""
        return sorted((r["parameter"], r["best"]) for r in self.rows
                      if r["system"] == system and r["metric"] == metric and r["ranks"] == ranks)

    def value(self, system, metric, ranks=2, parameter=None):
        """The best value of one point, or None."""
        found = [v for p, v in self.curve(system, metric, ranks) if parameter in (None, p)]
        return found[0] if found else None

    def systems(self):
        """The MPI systems that have rows."""
        return [s for s in NAMES if s != "raw" and any(r["system"] == s for r in self.rows)]


def draw_curves(data, axis, transform):
    """One line a system, and the raw copies as dashes."""
    for system in data.systems():
        points = [transform(p, v) for p, v in data.curve(system, "latency")]
        if points:
            wide = 2.2 if system == "tern" else 1.5
            axis.plot(*zip(*points), marker="o", markersize=3, linewidth=wide, color=COLOURS[system], label=NAMES[system])
    for metric, style, label in (("raw_copy_one", ":", "raw, one side copies"), ("raw_copy_both", "--", "raw, both sides copy")):
        points = [transform(p, v) for p, v in data.curve("raw", metric)]
        if points:
            axis.plot(*zip(*points), style, color=COLOURS["raw"], label=label)
    axis.set_xscale("log", base=2)
    sizes = [1, 16, 256, 4096, 65536, 1 << 20]
    axis.set_xticks(sizes, ["1 B", "16 B", "256 B", "4 KiB", "64 KiB", "1 MiB"])
    axis.minorticks_off()


def draw_latency(data, axis):
    """One-way time over size."""
    draw_curves(data, axis, lambda size, seconds: (size, seconds * 1e6))
    flags = data.value("raw", "raw_flags")
    if flags:
        axis.axhline(flags * 1e6, color=COLOURS["raw"], linewidth=1, label="raw, two flags")
    axis.set_yscale("log")
    axis.set_title("One-way latency")
    axis.set_ylabel("µs")
    axis.legend(fontsize=8)


def draw_bandwidth(data, axis):
    """Bytes a second over size."""
    draw_curves(data, axis, lambda size, seconds: (size, size / seconds / 1e9))
    axis.set_title("Bandwidth, one message at a time")
    axis.set_ylabel("GB/s")
    axis.legend(fontsize=8)


def draw_groups(data, axis, title, unit, groups, log=True):
    """Bars: groups = [(label, {system: value})]."""
    systems = [s for s in NAMES if any(values.get(s) for _, values in groups)]
    width = 0.8 / max(len(systems), 1)
    for i, system in enumerate(systems):
        places = [g + (i - (len(systems) - 1) / 2) * width for g in range(len(groups))]
        heights = [values.get(system) or 0 for _, values in groups]
        bars = axis.bar(places, heights, width * 0.92, color=COLOURS[system], label=NAMES[system])
        axis.bar_label(bars, [label(h) for h in heights], fontsize=6, padding=1, rotation=90)
    axis.set_xticks(range(len(groups)), [label for label, _ in groups])
    axis.grid(False, axis="x")
    axis.set_title(title)
    axis.set_ylabel(unit)
    axis.margins(y=0.15)
    if log:
        axis.set_yscale("log")


def label(value):
    """The number above a bar."""
    return "" if not value else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def group(data, metric, scale, ranks=2, parameter=None, raw=None):
    """One group of bars: every system's value times `scale`."""
    values = {s: data.value(s, metric, ranks, parameter) for s in data.systems()}
    if raw:
        values["raw"] = data.value("raw", raw, ranks)
    return {system: value * scale for system, value in values.items() if value}


def draw_barrier(data, axis):
    """Barriers; the raw limit is the counter with sched_yield."""
    groups = [(f"{n} ranks", group(data, "barrier", 1e6, n, raw="raw_barrier_yield")) for n in (2, 4, 8, 16)]
    draw_groups(data, axis, "Barrier", "µs", groups)


def draw_rate(data, axis):
    """Message rates."""
    groups = [("windows of 64", group(data, "rate_window", 1e-6, raw="raw_ring_rate")),
              ("blocking", group(data, "rate_blocking", 1e-6))]
    draw_groups(data, axis, "Message rate, 8 B", "million/s", groups, log=False)


def draw_start(data, axis):
    """Start-up times."""
    groups = [(f"mpirun -n {n}", group(data, "start", 1e3, n, raw="raw_spawn")) for n in (2, 32)]
    draw_groups(data, axis, "Start and end of hello", "ms", groups)


def draw_cost(data, axis):
    """What waiting, deep queues and memory cost."""
    groups = [("CPU while\nblocked, ms", group(data, "idle_cpu", 1e3)),
              ("16,384 posted\nreceives, µs", group(data, "queue_posted", 1e6)),
              ("memory,\n32 ranks, MiB", group(data, "memory_total", 2**-20, 32))]
    draw_groups(data, axis, "Waiting, queues, memory", "", groups)


CASES = [("barrier", 0), ("bcast", 8), ("bcast", 64 << 10), ("bcast", 1 << 20), ("allreduce", 8), ("allreduce", 8 << 10),
         ("allreduce", 1 << 20), ("alltoall", 8), ("alltoall", 1 << 10), ("alltoall", 64 << 10), ("allgather", 8),
         ("allgather", 8 << 10)]


def case_label(metric, size):
    """Two short lines below a group of bars."""
    names = {0: "", 8: "8 B", 1 << 10: "1 KiB", 8 << 10: "8 KiB", 64 << 10: "64 KiB", 1 << 20: "1 MiB"}
    return f"{metric}\n{names[size]}"


def draw_collectives(ranks):
    """A panel with every collective on so many ranks."""
    def draw(data, axis):
        groups = [(case_label(*case), group(data, case[0], 1e6, ranks, case[1])) for case in CASES]
        draw_groups(data, axis, f"Collectives, {ranks} ranks", "µs", [g for g in groups if g[1]])
        axis.tick_params(axis="x", labelsize=7)
    return draw


FILE_CASES = (("blocks_write", "blocks\nwrite"), ("blocks_read", "blocks\nread"), ("blocks_write_gaps", "with gaps\nwrite"),
              ("blocks_read_gaps", "with gaps\nread"), ("array_subarray_write", "array\nwrite"),
              ("array_subarray_read", "array\nread"), ("array_hand_write", "by hand\nwrite"), ("array_hand_read", "by hand\nread"))


def draw_files(medium, ranks):
    """A panel with what ranks reach together; the raw limit is one process."""
    def draw(data, axis):
        groups = []
        for what, text in FILE_CASES:
            raw = f"{medium}_raw_{'write' if 'write' in what else 'read'}"
            found = {s: data.value(s, f"{medium}_{what}", ranks) for s in data.systems()} | {"raw": data.value("raw", raw, 1)}
            groups.append((text, {s: (64 << 20) / v / 1e9 for s, v in found.items() if v}))
        where = "in the page cache" if medium == "cache" else "on a disk"
        draw_groups(data, axis, f"Files {where}, {ranks} ranks", "GB/s", groups, log=False)
        axis.tick_params(axis="x", labelsize=7)
    return draw


def figures(data):
    """The figures that there are measurements for: name, size of a row of two panels, panels."""
    counts = [ranks for ranks in (2, 4, 8, 16) if data.value("tern", "alltoall", ranks) is not None]
    found = [("collectives", (15, 4.5), [draw_collectives(ranks) for ranks in counts])]
    panels = [draw_files(medium, ranks) for medium in ("cache", "disk") for ranks in (2, 4, 8)
              if data.value("tern", f"{medium}_blocks_write", ranks) is not None]
    found.append(("files", (15, 4.5), panels))
    if data.value("tern", "latency") is not None:
        found.append(("curves", (11, 4.4), [draw_latency, draw_bandwidth]))
    if data.value("tern", "rate_window") is not None:
        found.append(("bars", (11, 4), [draw_rate, draw_barrier, draw_start, draw_cost]))
    return [figure for figure in found if figure[2]]


def main():
    """Writes each figure as SVG and PNG and prints where."""
    source, folder = Path(sys.argv[1]), Path(sys.argv[2])
    data = Data(json.loads(source.read_text())["results"])
    plt.rcParams.update(STYLE)
    for name, (width, height), panels in figures(data):
        rows = (len(panels) + 1) // 2
        figure, axes = plt.subplots(rows, 2, figsize=(width, rows * height), layout="constrained", squeeze=False)
        for axis in axes.flat[len(panels):]:
            axis.remove()
        for panel, axis in zip(panels, axes.flat):
            panel(data, axis)
        if name != "curves":
            handles = {text: bar for axis in axes.flat for bar, text in zip(*axis.get_legend_handles_labels())}
            figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=len(handles))
        for ending in ("svg", "png"):
            figure.savefig(folder / f"{name}.{ending}", dpi=150)
            print(folder / f"{name}.{ending}")
        plt.close(figure)


if __name__ == "__main__":
    main()
