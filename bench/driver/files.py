"""The page about files: goals, and what all systems reach, in bytes a second."""

from .cases import FILE_BYTES, FILE_PIECES, FILE_RANKS
from .report import Goal, goal_table, pair, size_name, table

MEDIA = {"cache": "the page cache", "disk": "a disk"}
# What moves 64 MiB: the metric, what it is, and the metric of the raw program beside it.
TOGETHER = (("blocks_write", "blocks of 4 KiB, write", "raw_write"), ("blocks_read", "blocks of 4 KiB, read", "raw_read"),
            ("blocks_write_gaps", "… from a buffer with gaps, write", "raw_write"),
            ("blocks_read_gaps", "… to a buffer with gaps, read", "raw_read"),
            ("array_subarray_write", "array of 4 dimensions, subarray, write", "raw_write"),
            ("array_subarray_read", "array of 4 dimensions, subarray, read", "raw_read"),
            ("array_darray_write", "array of 4 dimensions, darray, write", "raw_write"),
            ("array_darray_read", "array of 4 dimensions, darray, read", "raw_read"),
            ("array_hand_write", "… by the program's Alltoallv, write", "raw_write"),
            ("array_hand_read", "… by the program's Alltoallv, read", "raw_read"))


def goals():
    """The goals of both media. A rate of 1.3 times another's is a time of 1 / 1.3."""
    return [goal for medium in MEDIA for goal in goals_of(medium)]


def goals_of(medium):
    """The goals of one medium; what was not measured there is not judged."""
    where = f"{MEDIA[medium]}: "

    def goal(what, metric, limit, reference, against=(), **more):
        return Goal(where + what, metric, limit, reference, against, **more)

    found = []
    for ranks in FILE_RANKS:
        for way in ("write", "read"):
            blocks = (f"{medium}_blocks_{way}", ranks, FILE_BYTES)
            gaps = (f"{medium}_blocks_{way}_gaps", ranks, FILE_BYTES)
            what = f"{way} of blocks in turn, {ranks} ranks"
            found.append(goal(f"{what}, against the best peer", blocks, 1 / 1.3, "peers"))
            found.append(goal(f"{what}, against one process's pieces of 1 MiB", blocks, 1 / 0.8, "raw",
                              (f"{medium}_raw_{way}", 1, FILE_BYTES)))
            found.append(goal(f"{what}, a buffer with gaps against one without", gaps, 1.15, "self", blocks))
            hand = (f"{medium}_array_hand_{way}", ranks, FILE_BYTES)
            for kind in ("subarray", "darray"):
                found.append(goal(f"{way} by a {kind}, {ranks} ranks, against the program's own exchange",
                                  (f"{medium}_array_{kind}_{way}", ranks, FILE_BYTES), 1.0, "self", hand))
    found.append(goal("what a non-blocking write adds to a computation", (f"{medium}_iwrite_added", 1, FILE_BYTES), 0.1, "",
                      unit="share"))
    return found + (goals_of_one(goal) if medium == "cache" else [])


def goals_of_one(goal):
    """What does not wait for a disk is measured in the page cache only."""
    found = [goal(f"{way} of {size_name(size)} by one rank, against p{way}", (f"cache_own_{way}", 1, size), 1.05, "self",
                  (f"cache_plain_{way}", 1, size)) for size in FILE_PIECES for way in ("write", "read")]
    found.append(goal("open and close, 8 ranks, against the best peer", ("cache_open", 8, 0), 1.0, "peers"))
    found.append(goal("4 KiB at the shared pointer, 2 ranks, against the best peer", ("cache_shared", 2, 4096), 1 / 3, "peers"))
    return found


def rate(value):
    """Bytes a second of a time for all."""
    return "–" if value is None else " / ".join(f"{FILE_BYTES / seconds / 1e9:.2f}" for seconds in value)


def rates(results, systems, medium):
    """A table of what all systems reach, in GB/s."""
    keys = [s.key for s in systems if s.key != "raw"]
    rows = []
    for what, title, raw in TOGETHER:
        for ranks in FILE_RANKS:
            values = [results.get(key, f"{medium}_{what}", ranks, FILE_BYTES) for key in keys]
            if any(values):
                one = results.get("raw", f"{medium}_{raw}", 1, FILE_BYTES)
                bare = results.get("raw", f"{medium}_raw_{what}", ranks, FILE_BYTES)
                rows.append([title, ranks, *map(rate, values), rate(one), rate(bare)])
    names = [s.name for s in systems if s.key != "raw"]
    return table(["GB/s, best / median", "ranks", *names, "one process, 1 MiB pieces", "bare processes"], rows) if rows else ""


def times(results, systems):
    """A table of what is no matter of bytes a second."""
    keys = [s.key for s in systems if s.key != "raw"]
    points = [("cache_open", 8, 0, "open and close"), ("cache_shared", 2, 4096, "4 KiB at the shared pointer")]
    for size in FILE_PIECES:
        for way in ("write", "read"):
            points += [(f"cache_own_{way}", 1, size, f"{way} of {size_name(size)} by one rank"),
                       (f"cache_plain_{way}", 1, size, f"… by p{way}")]
    rows = []
    for metric, ranks, parameter, title in points:
        values = [results.get(key, metric, ranks, parameter) for key in keys]
        if any(values):
            rows.append([title, ranks, *(pair(value, "seconds") for value in values)])
    bare = results.get("raw", "cache_raw_shared", 2, 4096)
    if bare:
        rows.append(["… by two bare processes", 2, pair(bare, "seconds"), *("–" for _ in keys[1:])])
    for medium, where in MEDIA.items():
        values = [results.get(key, f"{medium}_iwrite_added", 1, FILE_BYTES) for key in keys]
        if any(values):
            rows.append([f"what a non-blocking write adds to a computation, {where}", 1, *(pair(v, "share") for v in values)])
    return table(["time, best / median", "ranks", *(s.name for s in systems if s.key != "raw")], rows) if rows else ""


def page(results, systems, facts, date, rows):
    """The whole page, as Markdown; empty if no file was measured."""
    rows = [row for row in rows if row["value"] != "–"]
    parts = [f"Files, measured {date} on {facts['cpu']}: {facts['cache_folder']} and {facts['disk_folder']}. "
             "All ranks together move 64 MiB. On a disk each write is synced, and no read finds anything in memory.", "",
             goal_table(rows)]
    for medium, where in MEDIA.items():
        found = rates(results, systems, medium)
        parts += ["", f"In {where}:" if medium == "cache" else f"On {where}:", "", found] if found else []
    found = times(results, systems)
    parts += ["", found] if found else []
    return "\n".join(parts) + "\n" if rows else ""
