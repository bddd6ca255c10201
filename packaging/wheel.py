#!/usr/bin/env python3
"""Makes a Python wheel of an installed prefix.

usage: wheel.py --prefix PREFIX --module python/memprof --readme README.md --license LICENSE --version 0.1.0
                --machine x86_64 --out dist

pip puts the programs into the folder of the environment's programs, the rest of the prefix beside it, as
with `cmake --install`, and the module `memprof` where Python finds it. Prints the wheel's path. The same input
gives the same bytes: times are those of SOURCE_DATE_EPOCH. The module is packed without the agent: `memprof run
--torch` finds that one in the prefix.
"""
import argparse
import base64
import hashlib
import os
import re
import sys
import time
import zipfile

NAME = "memprof_gpu"
PROGRAMS = ["memprof", "memprof-viewer"]
# What is older than this glibc cannot run the demo trainer; everything else needs less (check_prefix.py).
PLATFORM = "manylinux_2_28"
METADATA = """Metadata-Version: 2.1
Name: memprof-gpu
Version: {version}
Summary: Memory profiler and leak detector for GPU programs
License: Apache-2.0
License-File: LICENSE
Requires-Python: >=3.8
Keywords: cuda,gpu,memory,profiler,leak,pytorch
Classifier: Development Status :: 4 - Beta
Classifier: Environment :: GPU :: NVIDIA CUDA
Classifier: Framework :: Pytest
Classifier: License :: OSI Approved :: Apache Software License
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Classifier: Topic :: Software Development :: Debuggers
Provides-Extra: fleet
Requires-Dist: duckdb; extra == "fleet"
Requires-Dist: pyarrow; extra == "fleet"
Requires-Dist: fsspec; extra == "fleet"
Provides-Extra: mcp
Requires-Dist: mcp; extra == "mcp"
Provides-Extra: fleet-spark
Requires-Dist: duckdb; extra == "fleet-spark"
Requires-Dist: pyarrow; extra == "fleet-spark"
Requires-Dist: fsspec; extra == "fleet-spark"
Requires-Dist: pyspark; extra == "fleet-spark"
Requires-Dist: pandas; extra == "fleet-spark"
Description-Content-Type: text/markdown

"""
WHEEL = """Wheel-Version: 1.0
Generator: memprof scripts/package
Root-Is-Purelib: false
Tag: py3-none-{platform}_{machine}
"""
# Named as `pytest -p` names it, so that it is not loaded twice.
ENTRY_POINTS = """[pytest11]
memprof.pytest_plugin = memprof.pytest_plugin
"""


class Writer:
    """A wheel under construction: files, and the list of their sums."""

    def __init__(self, path):
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        self.record = []
        self.time = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", "315532800")))[:6]

    def add(self, name, content, mode=0o644):
        info = zipfile.ZipInfo(name, self.time)
        info.external_attr = (0o100000 | mode) << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        self.zip.writestr(info, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(content)}")

    def add_file(self, path, name):
        with open(path, "rb") as file:
            self.add(name, file.read(), 0o755 if os.access(path, os.X_OK) else 0o644)

    def add_folder(self, folder, prefix, place=None, without=()):
        """Every file of `folder`; place(relative path) may name another place than below `prefix`."""
        for path, folders, files in os.walk(folder, onerror=fail):
            folders[:] = sorted(set(folders) - {"__pycache__", *without})
            for file in sorted(files):
                relative = os.path.relpath(os.path.join(path, file), folder)
                name = place(relative) if place else None
                self.add_file(os.path.join(path, file), name or f"{prefix}/{relative}")

    def close(self, information):
        record = f"{information}/RECORD"
        self.add(record, "".join(f"{line}\n" for line in [*self.record, f"{record},,"]).encode())
        self.zip.close()


def fail(error):
    raise error


def text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def description(readme):
    """Without pictures and links that lead into the repository, because the package index has no such files."""
    place = r"\((?!https?:)[^)]*\)"
    return re.sub(rf"\[([^]]*)\]{place}", r"\1", re.sub(rf"(?m)^!\[.*\]{place}\n", "", readme))


def make(args):
    stem = f"{NAME}-{args.version}"
    os.makedirs(args.out, exist_ok=True)
    path = os.path.join(args.out, f"{stem}-py3-none-{PLATFORM}_{args.machine}.whl")
    wheel = Writer(path + ".part")

    def place(relative):
        folder, name = os.path.split(relative)
        return f"{stem}.data/scripts/{name}" if folder == "bin" and name in PROGRAMS else None

    wheel.add_folder(args.module, "memprof", without=["_agent"])
    wheel.add_folder(args.prefix, f"{stem}.data/data", place)
    information = f"{stem}.dist-info"
    metadata = METADATA.format(version=args.version) + description(text(args.readme))
    wheel.add(f"{information}/METADATA", metadata.encode())
    wheel.add(f"{information}/WHEEL", WHEEL.format(platform=PLATFORM, machine=args.machine).encode())
    wheel.add(f"{information}/entry_points.txt", ENTRY_POINTS.encode())
    wheel.add_file(args.license, f"{information}/licenses/LICENSE")
    wheel.close(information)
    os.replace(path + ".part", path)
    print(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    for option in ("prefix", "module", "readme", "license", "version", "machine", "out"):
        parser.add_argument("--" + option, required=True)
    try:
        make(parser.parse_args())
    except OSError as error:
        print(f"wheel: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
