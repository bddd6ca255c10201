"""Runs every dynamic program of this machine with --version, bare and with the recorder preloaded: output and
status must be the same. Prints how many were compared; the status is 1 if one differs or none was there.

usage: preload_all.py LIBMEMPROF.so
"""
import concurrent.futures
import glob
import os
import subprocess
import sys

LOADER = b"ld-linux"  # a program that the loader starts names it


def is_dynamic(path):
    try:
        with open(path, "rb") as file:
            head = file.read(4096)
    except OSError:
        return False
    return head[:4] == b"\x7fELF" and LOADER in head


def run(path, library):
    environment = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/tmp", "LC_ALL": "C"}
    if library:
        environment["LD_PRELOAD"] = library
    try:
        done = subprocess.run([path, "--version"], env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=20)
    except subprocess.TimeoutExpired:
        return "no end in 20 s", b"", b""
    except OSError as error:
        return str(error), b"", b""
    return done.returncode, done.stdout, done.stderr


def differs(path, library):
    """What preloading changed; None if nothing, or if two bare runs differ as well."""
    bare, recorded = run(path, None), run(path, library)
    if bare == recorded or run(path, None) != bare:
        return None
    return f"{path}: {bare} became {recorded}"


def main():
    library = os.path.abspath(sys.argv[1])
    programs = sorted({os.path.realpath(path) for folder in ("/bin", "/usr/bin", "/sbin", "/usr/sbin")
                       for path in glob.glob(folder + "/*")})
    programs = [path for path in programs if os.access(path, os.X_OK) and is_dynamic(path)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        changes = [change for change in pool.map(lambda path: differs(path, library), programs) if change]
    for change in changes:
        print(change, file=sys.stderr)
    print(f"{len(programs)} programs, {len(changes)} differ")
    return 1 if changes or not programs else 0


if __name__ == "__main__":
    sys.exit(main())
