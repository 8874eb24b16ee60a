#!/usr/bin/env python3
"""The tables of virtual functions of libmpi_cxx.so.40, compared with those that programs of Open MPI 4 were compiled for.

usage: cxx_tables.py LIBRARY TABLE

TABLE has a line for each slot: the class, and the function (as the linker names it) of which a program calls what is there. A slot of
a base class stands with the class that has something else there.
"""

import re
import subprocess
import sys

BASES = {"Comm": "Comm_Null", "Intracomm": "Comm", "Intercomm": "Comm", "Cartcomm": "Intracomm", "Graphcomm": "Intracomm",
         "Prequest": "Request", "Grequest": "Request"}


def main():
    library, table = sys.argv[1:]
    found = tables(library)
    expected = listed(table)
    wrong = [name for name in expected if expected[name] != found.get(name)]
    for name in wrong:
        for place, (want, have) in enumerate(zip(expected[name], found.get(name, []))):
            if want != have:
                print(f"{name}: slot {place} has {have}, not {want}")
        print(f"{name}: {len(found.get(name, []))} slots, of {len(expected[name])}")
    if len(expected) < 17 or sum(map(len, expected.values())) < 400:
        sys.exit(f"{table} has {len(expected)} classes")
    sys.exit(1 if wrong else 0)


def tables(library):
    """Each class with the functions in its slots, destructors and what stands before them left out."""
    there = {}
    for line in output("readelf", "-rW", library).splitlines():
        cells = line.split()
        if len(cells) >= 5 and re.fullmatch(r"R_(X86_64_64|AARCH64_ABS64)", cells[2]):
            there[int(cells[0], 16)] = cells[4].split("@")[0]
    found = {}
    for line in output("readelf", "--dyn-syms", "-W", library).splitlines():
        cells = line.split()
        named = re.fullmatch(r"_ZTVN3MPI\d+(\w+)E", cells[-1]) if len(cells) == 8 else None
        if named:
            start, size = int(cells[1], 16), int(cells[2], 0)
            found[named[1]] = [there.get(start + place, "0") for place in range(32, size, 8)]
    return found


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def listed(path):
    slots = {}
    for line in open(path, encoding="ascii"):
        if not line.startswith("#"):
            name, place, function = line.split()
            slots.setdefault(name, {})[int(place)] = function
    return {name: whole(slots, name) for name in slots}


def whole(slots, name):
    """The slots of a class: those of its base, and its own."""
    base = whole(slots, BASES[name]) if name in BASES else []
    own = slots.get(name, {})
    count = max([len(base)] + [place + 1 for place in own if place >= 0])
    return [own.get(place) or base[place] for place in range(count)]


main()
