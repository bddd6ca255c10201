#!/usr/bin/env python3
"""Recordings that people published beside the script that made them, against the same script on the stand-in GPU.

    study.py --checkouts FOLDER [--results FILE] [--keep FOLDER] [--memprof PATH] [--again] [ROW…]

FOLDER/OWNER/NAME is a clone of a row's repository; a missing one is cloned from GitHub. Runs the rows that FILE does
not have yet, each with the release of PyTorch that recorded it, on the stand-in of its GPU, and prints the table:
whether the allocator's events are the same, where they first differ, and the peaks. Scripts are run as they are, with
the arguments of recordings.csv, in a copy of their commit: look at them before, they are other people's."""
import argparse
import csv
import dataclasses
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

import compare
import logged

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RUN_SECONDS = 1800
# Of PyTorch's snapshots: C++ frames by the symbols of its libraries, not by addr2line, which takes minutes.
QUICK = {"TORCH_SYMBOLIZE_MODE": "dladdr"}


@dataclasses.dataclass(frozen=True)
class Row:
    id: str
    repository: str
    commit: str     # of the recording
    recording: str  # path in that commit
    also: str       # OWNER/NAME@COMMIT that the script needs, beside it as also/NAME
    folder: str     # where the script is run, in the repository
    script: str     # path and arguments, as for a shell
    environment: str  # NAME=VALUE, as for a shell
    writes: str     # the file that the script records, from `folder`
    torch: str      # release
    packages: str   # what the script needs besides, as for pip
    gpu: str        # a model of --sim=gpu=
    sources: str    # how release and GPU are known
    seen: str       # before: it was looked at while the stand-in was made; new: its first result stands


def read_rows(path=HERE / "recordings.csv"):
    with open(path, newline="", encoding="utf-8") as file:
        return [Row(**row) for row in csv.DictReader(file)]


def git(clone, *arguments, **options):
    return subprocess.run(["git", "-C", str(clone), *arguments], check=True, capture_output=True, **options).stdout


def clone_of(checkouts, repository):
    """The row's clone. It may be a bare one, and may lack objects: some stores leave out large files."""
    clone = checkouts / repository
    if not clone.exists():
        clone.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "clone", "--quiet", "--no-checkout", f"https://github.com/{repository}", str(clone)],
                       check=True, env={**os.environ, "GIT_LFS_SKIP_SMUDGE": "1"})
    return clone


def write_tree(clone, commit, folder):
    """Writes the files of a commit that the clone has; no links, and nothing outside of `folder`."""
    entries = [entry.split(b"\t", 1) for entry in git(clone, "ls-tree", "-r", "-z", commit).split(b"\0") if entry]
    files = [(meta.split()[2], os.fsdecode(path)) for meta, path in entries if meta.startswith(b"100")]
    with subprocess.Popen(["git", "-C", str(clone), "cat-file", "--batch"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as contents:
        for name, path in files:
            contents.stdin.write(name + b"\n")
            contents.stdin.flush()
            head = contents.stdout.readline().split()
            if head[-1] == b"missing":
                continue
            data = contents.stdout.read(int(head[2]) + 1)[:-1]
            target = folder / path
            if ".." in pathlib.PurePath(path).parts or target.is_absolute() and folder not in target.parents:
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        contents.stdin.close()


def python_of(row):
    """A Python with the row's release and packages, made by scripts/torch-sim; kept in build/torch."""
    release = f"torch=={row.torch}"
    venv = ROOT / "build/torch" / ("venv-" + re.sub(r"[^A-Za-z0-9.]", "_", release))
    if not (venv / "bin/python").exists():
        subprocess.run([str(ROOT / "scripts/torch-sim"), "--setup"], check=True,
                       env={**os.environ, "MEMPROF_TORCH": release})
    if row.packages:
        subprocess.run([sys.executable, "-m", "pip", "--python", str(venv / "bin/python"), "install", "--quiet",
                        "--no-deps", "--disable-pip-version-check", *shlex.split(row.packages)], check=True)
    return str(venv / "bin/python")


def run_of(row):
    """Rows with the same run are files that one run writes."""
    return dataclasses.replace(row, id="", recording="", writes="", sources="", seen="")


def run_rows(rows, checkouts, memprof, keep):
    """The result of each of these rows, which have the same run."""
    row = rows[0]
    clone = clone_of(checkouts, row.repository)
    real = [compare.load(git(clone, "cat-file", "blob", f"{one.commit}:{one.recording}")) for one in rows]
    with tempfile.TemporaryDirectory(prefix="recordings-") as folder:
        tree, log = pathlib.Path(folder) / "tree", pathlib.Path(folder) / "x.mprof"
        write_tree(clone, row.commit, tree)
        if row.also:
            repository, commit = row.also.split("@")
            write_tree(clone_of(checkouts, repository), commit, tree / "also" / repository.split("/")[1])
        write_metadata(tree)
        written = [tree / row.folder / one.writes for one in rows]
        for path in written:
            path.unlink(missing_ok=True)
            path.parent.mkdir(parents=True, exist_ok=True)
        run = subprocess.run([memprof, "run", f"--sim=gpu={row.gpu}", "-o", str(log), "--", python_of(row),
                              *shlex.split(row.script)], cwd=tree / row.folder, capture_output=True, text=True,
                             errors="replace", timeout=RUN_SECONDS, check=False, stdin=subprocess.DEVNULL,
                             env={**os.environ, **QUICK, **environment_of(row, tree)})
        for one, path in zip(rows, written):
            if keep and path.exists():
                shutil.copyfile(path, keep / f"{one.id}.pickle")
        lines = [line for line in run.stderr.splitlines() if line and not line.startswith("memprof:")]
        failure = {"failed": f"status {run.returncode}: {(lines or ['nothing was written'])[-1]}"}
        return [judge(one, path, log, memprof) if path.exists() else failure for one, path in zip(real, written)]


def judge(real, written, log, memprof):
    here = compare.load(written.read_bytes())
    return {**compare.compare(real, here), **logged.peaks(log, here, memprof)}


def write_metadata(tree):
    """What an installation of the repository's packages would leave for importlib.metadata: their names."""
    for project in list(tree.rglob("pyproject.toml")):
        found = re.search(r'^name\s*=\s*"([\w.-]+)"', project.read_text(errors="replace"), re.MULTILINE)
        if found:
            metadata = tree / "also" / f"{found[1].replace('-', '_')}-0.dist-info/METADATA"
            metadata.parent.mkdir(parents=True, exist_ok=True)
            metadata.write_text(f"Metadata-Version: 2.1\nName: {found[1]}\nVersion: 0\n")


def environment_of(row, tree):
    settings = dict(word.split("=", 1) for word in shlex.split(row.environment))
    paths = [one for one in settings.get("PYTHONPATH", "").split(os.pathsep) if one] + ["also"]
    return {**settings, "PYTHONPATH": os.pathsep.join(str(tree / one) for one in paths)}


def verdict(result):
    if "failed" in result:
        return f"failed: {result['failed']}"
    if result["differs_at"] is None:
        return "identical, places too" if result["same_places"] else "identical"
    if result["same_but_for_frees"]:
        return "identical but for the order of frees"
    return f"differs at {result['differs_at']}, {result['only_real']} and {result['only_here']} events of their own"


def percent(here, real):
    return "=" if here == real else f"{100 * (here - real) / real:+.1f}%" if real else "?"


def line_of(row, result):
    gpu = row.gpu.replace(",addresses=", ", ")
    head = f"{row.id:17}{gpu:20}{row.torch:8}{row.seen:7}"
    if "failed" in result:
        return f"{head}{verdict(result)}"
    peaks = "".join(f"{result[name] / (1 << 20):10.1f} {percent(result[name + '_here'], result[name]):>7}"
                    for name in ("allocated", "reserved"))
    log = {None: "?", True: "=", False: "differs"}[result["log_agrees"]]
    return f"{head}{result['events']:7}{peaks} {log:8}{verdict(result)}"


def table(rows, results):
    lines = [f"{'row':17}{'GPU':20}{'PyTorch':8}{'seen':7}{'events':>7}{'allocated MiB':>18}{'reserved MiB':>18} log"]
    done = [row for row in rows if row.id in results]
    lines += [line_of(row, results[row.id]) for row in done]
    for seen in sorted({row.seen for row in done}):
        some = [results[row.id] for row in done if row.seen == seen and "failed" not in results[row.id]]
        same = sum(result["differs_at"] is None for result in some)
        nearly = sum(result["same_but_for_frees"] for result in some) - same
        equal = [sum(result[name] == result[name + "_here"] for result in some) for name in ("allocated", "reserved")]
        lines.append(f"{seen}: {len(some)} compared; events identical in {same}, and but for the order of frees in {nearly} "
                     f"more; peak allocated equal in {equal[0]}, "
                     f"peak reserved equal in {equal[1]}")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ROW", help="ids; all if left out")
    parser.add_argument("--checkouts", type=pathlib.Path, required=True)
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path("recordings.json"))
    parser.add_argument("--keep", type=pathlib.Path, help="for the snapshots that the scripts write, as ROW.pickle")
    parser.add_argument("--memprof", default=str(ROOT / "build/bin/memprof"))
    parser.add_argument("--again", action="store_true", help="also rows that FILE has")
    arguments = parser.parse_args()
    rows = [row for row in read_rows() if not arguments.rows or row.id in arguments.rows]
    results = json.loads(arguments.results.read_text()) if arguments.results.exists() else {}
    missing = [row for row in rows if arguments.again or "failed" in results.get(row.id, {"failed": ""})]
    for run in dict.fromkeys(map(run_of, missing)):
        some = [row for row in missing if run_of(row) == run]
        try:
            judged = run_rows(some, arguments.checkouts.absolute(), arguments.memprof, arguments.keep)
        except (subprocess.SubprocessError, OSError, ValueError) as error:
            judged = [{"failed": str(error).splitlines()[0]}] * len(some)
        results.update({row.id: result for row, result in zip(some, judged)})
        arguments.results.write_text(json.dumps(results, indent=1) + "\n")
        for row in some:
            print(line_of(row, results[row.id]), flush=True)
    print("", *table(rows, results), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
