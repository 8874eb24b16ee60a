"""Groups of cases as ratios to the best peer: every case, their geometric mean, and the worst."""

from dataclasses import dataclass
from math import exp, log

from .cases import APP_RANKS, APPS, COLLECTIVE_RANKS, COLLECTIVES, FURTHER_COLLECTIVES
from .report import best_peer, paired_with_peers, point_title, table


@dataclass(frozen=True)
class Group:
    """Cases that are judged together."""

    name: str
    cases: tuple  # (metric, parameter)
    ranks: tuple
    mean_max: float  # goal for the geometric mean of all cases
    worst_max: float | None  # goal for every single case


GROUPS = (
    Group("collectives", COLLECTIVES, COLLECTIVE_RANKS, 0.6, 1.0),
    Group("further collectives", FURTHER_COLLECTIVES, COLLECTIVE_RANKS, 0.6, 1.0),
    Group("mini-applications", tuple((f"app_{app}", 0) for app in APPS), APP_RANKS, 0.95, None),
)


def ratios(group, results):
    """{(metric, ranks, parameter): (best, median)}: Tern's time over the best peer's, where both were measured."""
    found = {}
    for metric, parameter in group.cases:
        for ranks in group.ranks:
            mine = results.get("tern", metric, ranks, parameter)
            theirs, _ = best_peer((metric, ranks, parameter), results)
            if mine and theirs:
                key = (metric, ranks, parameter)
                found[key] = mine[0] / theirs[0], paired_with_peers(key, results)
    return found


def goal_rows(results):
    """The goals of all groups, as rows of the goal table."""
    return [row for group in GROUPS for row in rows_of(group, ratios(group, results))]


def rows_of(group, found):
    """The goals of a group, of which these ratios were found."""
    if not found:
        return []
    means = tuple(geometric_mean(pair[i] for pair in found.values()) for i in (0, 1))
    rows = [row(f"{group.name}, geometric mean of {len(found)} cases", group.mean_max, means)]
    if group.worst_max is None:
        return rows
    worst = [max(found, key=lambda key: found[key][i]) for i in (0, 1)]
    worsts = tuple(found[key][i] for i, key in enumerate(worst))
    name = " and ".join(dict.fromkeys(case_name(key) for key in worst))
    return [*rows, row(f"{group.name}, worst case: {name}", group.worst_max, worsts)]


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


def ratio_tables(results):
    """A table for each group that was measured, as Markdown."""
    tables = [ratio_table(group, ratios(group, results)) for group in GROUPS]
    return "\n\n".join(text for text in tables if text)


def ratio_table(group, found):
    """Every case's ratio, by number of ranks; the last line has the mean of each column."""
    if not found:
        return ""
    counts = [ranks for ranks in group.ranks if any(key[1] == ranks for key in found)]
    rows = []
    for metric, parameter in group.cases:
        cells = [text(found.get((metric, ranks, parameter))) for ranks in counts]
        rows.append([point_title(metric, parameter), *cells])
    means = [tuple(geometric_mean(pair[i] for key, pair in found.items() if key[1] == ranks) for i in (0, 1))
             for ranks in counts]
    rows.append(["geometric mean", *map(text, means)])
    return table([f"{group.name}: Tern ÷ best peer, best / median", *(f"{ranks} ranks" for ranks in counts)], rows)


def text(pair):
    """Best and median ratio."""
    return "–" if pair is None else f"{pair[0]:.2f} / {pair[1]:.2f}"
