#!/usr/bin/env python3
"""Makes stubs of an old glibc, to link libraries that are loaded into programs of any age.

usage: make_stubs.py --floor 2.17 --cc gcc --objdump objdump --libc LIBC.so.6 --libm LIBM.so.6 --out FOLDER

A program that is linked against the C library of the build machine needs that library's newest
symbol versions, and does not start with an older one. But glibc keeps the old versions of each
symbol. A stub has, of each function, the newest version that glibc FLOOR had already, and nothing
younger: what is linked against it runs with glibc FLOOR and everything after it, and a function
that is too new is an error of the linker. Since glibc 2.34 libc.so.6 contains what was in
libpthread, libdl, librt and others; the stubs divide it again, so that an old loader finds these functions.

FOLDER gets libc.so (a linker script), libc.so.6, the libraries of MOVED, and libm.so. The stubs contain no
code, and are not for running anything.
"""
import argparse
import os
import re
import subprocess
import sys

LINE = re.compile(r"^[0-9a-f]{16} (.{7}) (\S+)\s+([0-9a-f]{16})\s+\(?GLIBC_([0-9.]+)\)?\s+(?:0x[0-9a-f]+ |\.hidden )?(\S+)$")
# Where old releases had the functions that are in libc.so.6 today.
MOVED = [("libdl.so.2", re.compile(r"^dl(open|sym|close|error|addr1?|info|mopen|vsym)$")),
         ("librt.so.1", re.compile(r"^(shm_(open|unlink)|aio_|lio_|(__)?mq_|timer_)")),
         ("libpthread.so.0", re.compile(r"^(_{0,2}pthread_|(__)?sem_)")),
         ("libutil.so.1", re.compile(r"^((open|fork)pty|login(_tty)?|logout|logwtmp)$")),
         ("libanl.so.1", re.compile(r"^(getaddrinfo_a|gai_(cancel|error|suspend))$")),
         ("libresolv.so.2", re.compile(r"^ns_name_"))]


def number(version):
    return tuple(int(part) for part in version.split("."))


def symbols_of(library, objdump, floor):
    """{name: (version, "function" or "object", bytes)}: of each symbol the newest version up to `floor`."""
    listing = subprocess.run([objdump, "-T", library], check=True, capture_output=True, text=True).stdout
    newest = {}
    for line in listing.splitlines():
        match = LINE.match(line)
        if not match:
            continue
        flags, section, size, version, name = match.groups()
        if section in ("*UND*", "*ABS*", ".tbss", ".tdata") or number(version) > floor:
            continue
        if name not in newest or number(version) > number(newest[name][0]):
            kind = "object" if "O" in flags else "function"
            newest[name] = (version, kind, int(size, 16))
    return newest


def write_stub(out, soname, symbols, cc):
    source, script = os.path.join(out, soname + ".S"), os.path.join(out, soname + ".map")
    lines = ['.section .note.GNU-stack,"",%progbits', ".bss", ".balign 64"]
    for index, (name, (version, kind, size)) in enumerate(sorted(symbols.items())):
        local = f"stub_{index}"
        lines += [f".globl {local}", f".type {local}, %{kind}", ".balign 32", f"{local}: .skip {max(size, 8) if kind == 'object' else 8}",
                  f".size {local}, {size if kind == 'object' else 8}",
                  f".symver {local}, {name}@@GLIBC_{version}, remove"]
    versions = sorted({version for version, _, _ in symbols.values()}, key=number)
    with open(source, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    with open(script, "w", encoding="utf-8") as file:
        file.write("".join(f"GLIBC_{version} {{ }};\n" for version in versions))
    command = [cc, "-shared", "-nostdlib", f"-Wl,-soname,{soname}", "-o", os.path.join(out, soname), source]
    if versions:
        command.append(f"-Wl,--version-script={script}")
    subprocess.run(command, check=True)


def divide(symbols):
    parts = {"libc.so.6": {}, **{soname: {} for soname, _ in MOVED}}
    for name, symbol in symbols.items():
        soname = next((soname for soname, names in MOVED if names.match(name)), "libc.so.6")
        parts[soname][name] = symbol
    return parts


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    for option in ("floor", "cc", "objdump", "libc", "libm", "nonshared", "loader", "out"):
        parser.add_argument("--" + option, required=True)
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    floor = number(args.floor)
    for soname, symbols in divide(symbols_of(args.libc, args.objdump, floor)).items():
        if soname == "libc.so.6" and "malloc" not in symbols:
            print(f"make_stubs: {args.objdump} lists no symbols of {args.libc}", file=sys.stderr)
            return 1
        write_stub(args.out, soname, symbols, args.cc)
    write_stub(args.out, "libm.so.6", symbols_of(args.libm, args.objdump, floor), args.cc)
    os.replace(os.path.join(args.out, "libm.so.6"), os.path.join(args.out, "libm.so"))
    others = " ".join(os.path.join(args.out, soname) for soname, _ in MOVED)
    with open(os.path.join(args.out, "libc.so"), "w", encoding="utf-8") as file:
        file.write(f"GROUP ( {os.path.join(args.out, 'libc.so.6')} {args.nonshared} "
                   f"AS_NEEDED ( {others} {args.loader} ) )\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
