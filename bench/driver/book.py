"""The dated page of a whole run, in the part of the book on performance."""

import re

from . import report

SUMMARY_LINE = re.compile(r"^- \[Results: .*\]\(performance/\d{4}-.*\.md\)$", re.MULTILINE)


def write(docs, facts, date, systems, seconds, rows):
    """Writes the page and its line of the table of contents; a page of the same day and processor is replaced."""
    name = f"performance/{date}-{slug(facts['cpu'])}.md"
    title = f"Results: {facts['cpu']}, {date}"
    (docs / name).write_text(page(title, facts, systems, seconds, rows), encoding="utf-8")
    summary = docs / "SUMMARY.md"
    summary.write_text(listed(summary.read_text(encoding="utf-8"), f"- [{title}]({name})"), encoding="utf-8")
    return docs / name


def slug(cpu):
    """A processor's name as a part of a file's name: its words but those that all processors have."""
    words = re.findall(r"[a-z0-9]+", re.sub(r"\((r|tm)\)|processor|cpu|@.*", " ", cpu.lower()))
    return "-".join(words) or "machine"


def page(title, facts, systems, seconds, rows):
    """What was measured where, and each goal that a value was measured for."""
    judged = [row for row in rows if row["value"] != "–"]
    table = report.table(["what", "goal", "Tern", "reference", "ratio", "verdict"],
                         [[r["what"], r["goal"], r["value"], r["reference"], r["ratio"], r["verdict"]] for r in judged])
    return "\n".join([
        f"# {title}", "",
        f"`make bench` as a whole took {seconds / 60:.0f} minutes. It used cores {', '.join(map(str, facts['cores_used']))} of {facts['cores']}.",
        f"Linux {facts['kernel']}, {facts['system']}, {facts['memory_gib']} GiB. The load at the start was {facts['load_at_start']}.",
        "Each cell has the best and the median.", "",
        "| system | version |", "| --- | --- |", *(f"| {s.name} | {s.version} |" for s in systems), "",
        "## Goals", "", table, ""])


def listed(summary, line):
    """The table of contents with a line behind those of other results."""
    if line in summary.splitlines():
        return summary
    last = list(SUMMARY_LINE.finditer(summary))[-1]
    return summary[:last.end()] + "\n" + line + summary[last.end():]
