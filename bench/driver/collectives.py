"""Collectives as ratios to the best peer: every case, their geometric mean, and the worst."""

from math import exp, log

from .cases import COLLECTIVE_RANKS, COLLECTIVES
from .report import best_peer, point_title, table

MEAN_MAX = 0.7  # goal for the geometric mean of all cases
WORST_MAX = 1.1  # goal for every single case


def ratios(results):
    """{(metric, ranks, bytes): (best, median)}: Tern's time over the best peer's, where both were measured."""
    found = {}
    for metric, size in COLLECTIVES:
        for ranks in COLLECTIVE_RANKS:
            mine = results.get("tern", metric, ranks, size)
            theirs, _ = best_peer((metric, ranks, size), results)
            if mine and theirs:
                found[metric, ranks, size] = tuple(m / t for m, t in zip(mine, theirs))
    return found


def goal_rows(results):
    """The two goals, as rows of the goal table."""
    found = ratios(results)
    if not found:
        return []
    means = tuple(geometric_mean(pair[i] for pair in found.values()) for i in (0, 1))
    worst = [max(found, key=lambda key: found[key][i]) for i in (0, 1)]
    worsts = tuple(found[key][i] for i, key in enumerate(worst))
    name = " and ".join(dict.fromkeys(case_name(key) for key in worst))
    return [row(f"collectives, geometric mean of {len(found)} cases", MEAN_MAX, means),
            row(f"collectives, worst case: {name}", WORST_MAX, worsts)]


def row(what, limit, pair):
    """A goal that is a ratio to the best peers."""
    met = [ratio <= limit for ratio in pair]
    verdict = "met" if all(met) else "met at best, not in the median" if met[0] else "missed"
    return {"what": what, "goal": f"≤ {limit:g} ×", "value": "–", "reference": "best peer of each case",
            "ratio": f"{pair[0]:.2f} / {pair[1]:.2f}", "verdict": verdict, "best": pair[0], "median": pair[1]}


def geometric_mean(values):
    """The mean of ratios: half and double cancel each other."""
    logs = [log(value) for value in values]
    return exp(sum(logs) / len(logs))


def case_name(key):
    """A case for a person."""
    metric, ranks, size = key
    return f"{point_title(metric, size)}, {ranks} ranks"


def ratio_table(results):
    """Every case's ratio, by number of ranks, as Markdown; the last line has the mean of each column."""
    found = ratios(results)
    counts = [ranks for ranks in COLLECTIVE_RANKS if any(key[1] == ranks for key in found)]
    rows = []
    for metric, size in COLLECTIVES:
        cells = [text(found.get((metric, ranks, size))) for ranks in counts]
        rows.append([point_title(metric, size), *cells])
    means = [tuple(geometric_mean(pair[i] for key, pair in found.items() if key[1] == ranks) for i in (0, 1))
             for ranks in counts]
    rows.append(["geometric mean", *map(text, means)])
    return table(["Tern ÷ best peer, best / median", *(f"{ranks} ranks" for ranks in counts)], rows) if found else ""


def text(pair):
    """Best and median ratio."""
    return "–" if pair is None else f"{pair[0]:.2f} / {pair[1]:.2f}"
