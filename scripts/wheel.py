#!/usr/bin/env python3
"""Makes the wheel `tern_mpi` of an installed tree.

usage: wheel.py TREE VERSION GLIBC MACHINE FOLDER

Everything lies under the environment's own folders: bin/mpirun, bin/mpicc, lib, include. libmpi.so.12 lies in lib itself, where
mpi4py's wheel looks for an MPI. There is no libmpi.so: the one of the standard ABI would make that wheel look for a module
that it does not have.
"""

import base64
import hashlib
import os
import stat
import sys
import zipfile

NAME = "tern_mpi"
# Written for those who read archives: the time of every file.
TIME = (2020, 1, 1, 0, 0, 0)
# Libraries that also lie in lib itself, for those who look there.
IN_LIB = ["lib/mpich/libmpi.so.12", "lib/mpich/libmpifort.so.12", "lib/openmpi/libmpi.so.40", "lib/openmpi/libmpi_mpifh.so.40"]


def main():
    tree, version, glibc, machine, folder = sys.argv[1:]
    tag = f"py3-none-manylinux_{glibc.replace('.', '_')}_{machine}"
    path = os.path.join(folder, f"{NAME}-{version}-{tag}.whl")
    data, info = f"{NAME}-{version}.data/data", f"{NAME}-{version}.dist-info"
    record = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name in files(tree):
            add(wheel, record, f"{data}/{name}", contents(tree, name), executable(tree, name))
        for name in IN_LIB:
            if os.path.exists(os.path.join(tree, name)):
                add(wheel, record, f"{data}/lib/{os.path.basename(name)}", contents(tree, name), True)
        add(wheel, record, f"{info}/METADATA", metadata(version), False)
        add(wheel, record, f"{info}/WHEEL", about(tag), False)
        for name in ["LICENSE", "LICENSE-MIT", "LICENSE-APACHE"]:
            add(wheel, record, f"{info}/licenses/{name}", contents(".", name), False)
        record.append(f"{info}/RECORD,,")
        add(wheel, [], f"{info}/RECORD", ("\n".join(record) + "\n").encode(), False)
    print(path)


def files(tree):
    """All files, links included: a wheel has copies of what links name."""
    found = []
    for folder, _, names in os.walk(tree):
        found += [os.path.relpath(os.path.join(folder, name), tree) for name in names]
    # A module file is for one compiler, and the sources of the modules are there.
    return sorted(name for name in found if not name.startswith("lib/tern/fortran/"))


def contents(tree, name):
    with open(os.path.join(tree, name), "rb") as file:
        return file.read()


def executable(tree, name):
    return bool(os.stat(os.path.join(tree, name)).st_mode & stat.S_IXUSR)


def add(wheel, record, name, text, is_executable):
    entry = zipfile.ZipInfo(name, TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = (stat.S_IFREG | (0o755 if is_executable else 0o644)) << 16
    wheel.writestr(entry, text)
    digest = base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()
    record.append(f"{name},sha256={digest},{len(text)}")


def metadata(version):
    return f"""Metadata-Version: 2.1
Name: tern-mpi
Version: {version}
Summary: Tern, an MPI library with the standard ABI, and with those of MPICH and Open MPI
License: MIT OR Apache-2.0
Requires-Python: >=3.8
Description-Content-Type: text/markdown

`mpirun`, `mpicc`, and the libraries of Tern, an implementation of MPI 5.0.

    pip install tern-mpi mpi4py
    mpirun -n 4 python program.py
""".encode()


def about(tag):
    return f"Wheel-Version: 1.0\nGenerator: tern\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()


main()
