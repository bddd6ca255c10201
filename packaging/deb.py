#!/usr/bin/env python3
"""Makes Debian packages of an installed prefix: memprof, memprof-viewer and libmemprof-dev.

usage: deb.py --prefix PREFIX --version 0.1.0 --machine x86_64 --out dist

They install below /usr and depend on no library, because the prefix has what it needs. Needs dpkg-deb. Prints
the packages' paths. The same input gives the same bytes (SOURCE_DATE_EPOCH).
"""
import argparse
import email.utils
import fnmatch
import gzip
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
# Debian wants an address; there is none yet, and this one can be nobody's.
MAINTAINER = "memprof maintainers <maintainers@memprof.invalid>"
TEXTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "debian")

# What belongs to which package: the first pattern that matches. The licence is named in `copyright`.
PLACES = [
    ("share/doc/memprof/LICENSE", None),
    ("include/*", "libmemprof-dev"),
    ("lib/cmake/*", "libmemprof-dev"),
    ("bin/memprof-viewer", "memprof-viewer"),
    ("lib/memprof/viewer/*", "memprof-viewer"),
    ("share/*memprof-viewer*", "memprof-viewer"),
    ("share/mime/*", "memprof-viewer"),
    ("share/icons/*", "memprof-viewer"),
    ("*", "memprof"),
]
PACKAGES = {
    "memprof": ("devel", "libc6 (>= 2.28)", "python3", "memory profiler and leak detector for GPU programs",
                ["Runs a program that uses CUDA, unmodified, and records every",
                 "allocation of device memory with its call stack. Finds leaks,",
                 "explains peaks, fragmentation and failed requests. Includes a",
                 "stand-in GPU, on which programs run without one."]),
    "memprof-viewer": ("devel", "memprof (= {version})", "", "desktop viewer for the logs of memprof",
                       ["Shows a log of memprof: memory over time, every allocation,",
                        "leaks, call sites, tensors and fragmentation. Brings its own",
                        "Qt, fonts and C library along, and needs no OpenGL."]),
    "libmemprof-dev": ("libdevel", "memprof (= {version})", "", "header for marks of programs that memprof records",
                       ["The C header and the CMake package by which a program gives",
                        "steps, ranges and names to memprof, and takes snapshots."]),
}


def package_of(relative):
    return next(package for pattern, package in PLACES if fnmatch.fnmatch(relative, pattern))


def compress(path, text, time):
    with open(path, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=time) as packed:
        packed.write(text.encode())


def write_documents(root, name, version, time):
    folder = os.path.join(root, "usr/share/doc", name)
    os.makedirs(folder, exist_ok=True)
    shutil.copyfile(os.path.join(TEXTS, "copyright"), os.path.join(folder, "copyright"))
    date = email.utils.formatdate(time)
    compress(os.path.join(folder, "changelog.gz"),
             f"memprof ({version}) unstable; urgency=medium\n\n  * Release {version}.\n\n -- {MAINTAINER}  {date}\n", time)
    overrides = os.path.join(TEXTS, name + ".lintian-overrides")
    if os.path.exists(overrides):
        target = os.path.join(root, "usr/share/lintian/overrides", name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(overrides, target)


def write_control(root, name, version, machine):
    section, depends, suggests, summary, description = PACKAGES[name]
    control = os.path.join(root, "DEBIAN")
    os.makedirs(control)
    if os.path.exists(os.path.join(root, "usr/lib/libmemprof.so")):
        with open(os.path.join(control, "triggers"), "w", encoding="utf-8") as file:
            file.write("activate-noawait ldconfig\n")
    sums, size = [], 0
    for folder, _, files in os.walk(os.path.join(root, "usr")):
        for file in files:
            path = os.path.join(folder, file)
            size += os.path.getsize(path)
            with open(path, "rb") as content:
                sums.append((os.path.relpath(path, root), hashlib.md5(content.read()).hexdigest()))
    with open(os.path.join(control, "md5sums"), "w", encoding="utf-8") as file:
        file.write("".join(f"{digest}  {path}\n" for path, digest in sorted(sums)))
    fields = {"Package": name, "Version": version, "Architecture": ARCHITECTURES[machine], "Maintainer": MAINTAINER,
              "Installed-Size": str(size // 1024 + 1), "Section": section, "Priority": "optional",
              "Depends": depends.format(version=version), "Suggests": suggests,
              "Description": "\n".join([summary, *(" " + line for line in description)])}
    with open(os.path.join(control, "control"), "w", encoding="utf-8") as file:
        file.write("".join(f"{key}: {value}\n" for key, value in fields.items() if value))


def set_modes(root):
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = os.path.join(folder, name)
            if not os.path.islink(path):
                is_program = os.path.isdir(path) or path.startswith(os.path.join(root, "usr/bin/"))
                executable = is_program or "/ld-linux" in path or path.endswith(("viewer/memprof-viewer", "torch-sim"))
                os.chmod(path, 0o755 if executable else 0o644)


def fail(error):
    raise error


def stage(prefix, root, name):
    """Copies the files of a package; packs manual pages as Debian wants it."""
    for folder, folders, files in os.walk(prefix, onerror=fail):
        folders[:] = [each for each in folders if each != "__pycache__"]
        for file in files:
            path = os.path.join(folder, file)
            relative = os.path.relpath(path, prefix)
            if package_of(relative) == name:
                target = os.path.join(root, "usr", relative)
                os.makedirs(os.path.dirname(target), exist_ok=True)
                shutil.copyfile(path, target, follow_symlinks=False)


def pack_manual_pages(root, time):
    for folder, _, files in os.walk(os.path.join(root, "usr/share/man")):
        for file in files:
            path = os.path.join(folder, file)
            with open(path, encoding="utf-8") as page:
                compress(path + ".gz", page.read(), time)
            os.remove(path)


def make(args):
    time = int(os.environ.get("SOURCE_DATE_EPOCH", "315532800"))
    os.makedirs(args.out, exist_ok=True)
    for name in PACKAGES:
        with tempfile.TemporaryDirectory() as root:
            os.chmod(root, 0o755)
            stage(args.prefix, root, name)
            pack_manual_pages(root, time)
            write_documents(root, name, args.version, time)
            write_control(root, name, args.version, args.machine)
            set_modes(root)
            path = os.path.join(args.out, f"{name}_{args.version}_{ARCHITECTURES[args.machine]}.deb")
            subprocess.run(["dpkg-deb", "--root-owner-group", "-Zxz", "--build", root, path], check=True,
                           stdout=subprocess.DEVNULL, env={**os.environ, "SOURCE_DATE_EPOCH": str(time)})
        print(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    for option in ("prefix", "version", "machine", "out"):
        parser.add_argument("--" + option, required=True)
    try:
        make(parser.parse_args())
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"deb: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
