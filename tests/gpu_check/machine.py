"""The machine under test: where its CUDA is, and running guests on it, unrecorded and recorded."""
import csv
import io
import itertools
import json
import os
import pty
import select
import signal
import subprocess
import tempfile
import time
from pathlib import Path


class GuestFailed(Exception):
    """A guest could not be run to its end; the text is the reason."""


class CannotStart(GuestFailed):
    """The machine lacks something that the guest needs: no fault of memprof."""


class OutOfTime(Exception):
    pass


# After SIGKILL: a process that hangs in a driver does not end, so it is not awaited.
_GRACE_S = 3


def end(child):
    """Kills a process that was started in its own session, with all its children. Returns whether it has ended."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    try:
        child.wait(_GRACE_S)
        return True
    except subprocess.TimeoutExpired:
        return False


class Ended:
    """How a program ended: `status` as in subprocess, None if it had to be killed; and its output."""

    def __init__(self, status, output, errors, gone=True):
        self.status, self.output, self.errors, self.gone = status, output, errors, gone


def run_bounded(words, environment, folder, most_s):
    """Runs a program for not much longer than `most_s`. Its output goes to files, because a pipe would stay open as
    long as any process that it started holds it."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=errors,
                                 cwd=folder, start_new_session=True)
        status, gone = None, True
        try:
            status = child.wait(most_s)
        except subprocess.TimeoutExpired:
            pass
        finally:
            gone = end(child)
        told = []
        for file in (output, errors):
            file.seek(0)
            told.append(file.read().decode(errors="replace"))
        return Ended(status, *told, gone)


def _toolkit(build):
    """The toolkit's folder: CUDA_HOME, the folder that the build was configured with, or the usual path."""
    candidates = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH")]
    cache = build / "CMakeCache.txt"
    if cache.exists():
        candidates += [line.split("=", 1)[1] for line in cache.read_text(errors="replace").splitlines()
                       if line.startswith("CUDAToolkit_ROOT")]
    candidates.append("/usr/local/cuda")
    return next((Path(one) for one in candidates if one and Path(one).is_dir()), None)


class Machine:
    def __init__(self, build, scratch, stand_in, limit_s, guests=None):
        self.build, self.scratch, self.stand_in = build, Path(scratch), stand_in
        self.guests = guests or build / "gpu_check"
        self.deadline = time.monotonic() + limit_s
        self.toolkit = _toolkit(build)
        self.memprof = build / "bin/memprof"
        self.recorder = build / "lib/libmemprof.so"
        self.carried = [build / "carried"] if (build / "carried").is_dir() else []
        self._logs = itertools.count(1)

    def environment(self):
        """The variables by which programs find this machine's CUDA."""
        if self.stand_in:
            return {"LD_LIBRARY_PATH": str(self.build / "simcuda"), "SIMCUDA": "memory=8GiB",
                    "GPU_CHECK_CUPTI": str(self.build / "simcuda/libcupti.so.13"),
                    "MEMPROF_CUPTI_LIBRARY": str(self.build / "simcuda/libcupti.so.13")}
        folders = []
        if self.toolkit:
            folders = [str(self.toolkit / part) for part in
                       ("lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib", "extras/CUPTI/lib64")
                       if (self.toolkit / part).is_dir()]
        # Libraries of a packed folder come last: the machine's own CUDA is to be checked.
        folders += [os.environ.get("LD_LIBRARY_PATH", ""), str(self.build / "carried/cuda")]
        return {"LD_LIBRARY_PATH": ":".join(folder for folder in folders if folder)}

    def left_s(self):
        return self.deadline - time.monotonic()

    def whole_environment(self, extra=None):
        """The environment of a guest, without memprof's variables from outside."""
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith("MEMPROF_") and key not in ("LD_PRELOAD", "CUDA_INJECTION64_PATH",
                                                                         "NVTX_INJECTION64_PATH")}
        environment.update({**self.environment(), **(extra or {})})
        return environment

    def finish(self, command, extra=None, most_s=60):
        """How a program ended: in any way, except by exceeding its time."""
        most = min(most_s, self.left_s())
        if most <= 1:
            raise OutOfTime
        words = [str(word) for word in command]
        name = f"{Path(words[0]).name} {' '.join(words[1:])}".strip()
        try:
            done = run_bounded(words, self.whole_environment(extra), self.scratch, most)
        except OSError as error:
            raise CannotStart(f"{words[0]}: {error.strerror}") from error
        if done.status is None:
            stuck = "" if done.gone else ", nor when it was killed: it hangs in the driver"
            raise GuestFailed(f"{name} did not end in {most:.0f} s{stuck}")
        # Messages of the loader: a library is missing, or too old.
        last = (done.errors.strip().splitlines() or [""])[-1]
        if done.status == 127 and "error while loading shared libraries" in last or \
                done.status == 1 and "version `" in last and last.endswith(")") and "' not found" in last:
            raise CannotStart(f"{name}: {last.split(': ', 1)[-1]}")
        return done

    def run(self, command, extra=None, most_s=60):
        """Standard output of a program, which must exit with status 0."""
        done = self.finish(command, extra, most_s)
        if done.status != 0:
            said = (done.errors.strip().splitlines() or [""])[-1]
            raise GuestFailed(f"{Path(str(command[0])).name} {' '.join(map(str, command[1:]))} ended with "
                              f"{done.status}: {said}")
        return done.output

    def stamped(self, command, extra=None, most_s=60):
        """[(time, line)] of a program's output, read through a terminal so that lines are not buffered. The program
        must exit with status 0."""
        deadline = time.monotonic() + min(most_s, self.left_s())
        if deadline - time.monotonic() <= 1:
            raise OutOfTime
        name = Path(str(command[0])).name
        terminal, other_end = pty.openpty()
        lines, rest = [], b""
        with tempfile.TemporaryFile() as errors, open(terminal, "rb", buffering=0) as reader:
            child = subprocess.Popen([str(word) for word in command], env=self.whole_environment(extra),
                                     stdin=subprocess.DEVNULL, stdout=other_end, stderr=errors, cwd=self.scratch,
                                     start_new_session=True)
            os.close(other_end)
            try:
                while time.monotonic() < deadline:
                    if not select.select([reader], [], [], min(1, max(0, deadline - time.monotonic())))[0]:
                        continue
                    try:
                        some = reader.read(65536)
                    except OSError:  # the other end was closed
                        some = b""
                    if not some:
                        break
                    now = time.monotonic()
                    *whole, rest = (rest + some).split(b"\n")
                    lines += [(now, line.decode(errors="replace").rstrip("\r")) for line in whole]
                child.wait(max(0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                pass
            finally:
                status = child.poll()
                end(child)
            errors.seek(0)
            said = (errors.read().decode(errors="replace").strip().splitlines() or [""])[-1]
        if status != 0:
            raise GuestFailed(f"{name} did not end in time" if status is None else f"{name} ended with {status}: {said}")
        return lines

    def guest(self, name, *arguments):
        return [self.guests / name, *arguments]

    def new_log(self):
        return self.scratch / f"check{os.getpid()}.{next(self._logs)}.mprof"

    def recording(self, log, injected=False, extra=None):
        """The variables with which a program is recorded."""
        variable = "CUDA_INJECTION64_PATH" if injected else "LD_PRELOAD"
        return {variable: str(self.recorder), "MEMPROF_OUTPUT": str(log), **(extra or {})}

    def record(self, command, extra=None, injected=False, most_s=60):
        """Runs a program recorded; returns its output and the log's path. The log may be missing."""
        log = self.new_log()
        return self.run(command, self.recording(log, injected, extra), most_s), log

    def answer(self, output):
        """A guest's JSON."""
        try:
            return json.loads(output)
        except ValueError as error:
            raise GuestFailed(f"a guest said {output[:80]!r}") from error

    def ask_guest(self, name, *arguments, extra=None, most_s=60):
        """The answer of a guest that is not recorded. Raises CannotStart if the guest states why it cannot run."""
        told = self.answer(self.run(self.guest(name, *arguments), extra, most_s))
        if "skipped" in told:
            raise CannotStart(told["skipped"])
        if "failed" in told:
            raise GuestFailed(told["failed"])
        return told

    # Logs -----------------------------------------------------------------------------------------

    def ask(self, verb, log, *options):
        if not log.exists():
            raise GuestFailed("no log was written")
        return self.memprof_says(verb, *options, log)

    def memprof_says(self, *arguments):
        """Libraries of a packed folder replace those that the machine lacks. The C++ library is used only if the
        machine's is too old, because the packed one may need a newer C library."""
        ways = [self.carried, self.carried + [self.build / "carried/cxx"]] if self.carried else [[]]
        for number, folders in enumerate(ways, 1):
            extra = {"LD_LIBRARY_PATH": ":".join(map(str, folders))} if folders else None
            try:
                done = self.finish([self.memprof, *arguments], extra)
                break
            except CannotStart:
                if number == len(ways):
                    raise
        if done.status != 0:
            said = (done.errors.strip().splitlines() or [""])[-1]
            raise GuestFailed(f"memprof {arguments[0]} ended with {done.status}: {said}")
        if folders:
            self.carried = folders
        return done.output

    def events(self, log):
        return [json.loads(line) for line in self.ask("dump", log, "--json").splitlines()]

    def report(self, log):
        return json.loads(self.ask("report", log, "--json"))

    def live(self, log, layer):
        """{mark: (blocks, bytes)} of the layer at each snapshot."""
        marks = {event["name"]: event["time_ns"] for event in self.events(log) if event["op"] == "snapshot"}
        rows = list(csv.DictReader(io.StringIO(self.ask("export", log, "--table=allocations", "-o", "-"))))
        result = {}
        for mark, time_ns in marks.items():
            alive = [row for row in rows if row["layer"] == layer and int(row["birth_time_ns"]) <= time_ns
                     and (not row["death_time_ns"] or int(row["death_time_ns"]) > time_ns)]
            result[mark] = (len(alive), sum(int(row["bytes"]) for row in alive))
        return result

    def pools(self, log, layer, mark):
        """(reserved, used) bytes of all pools of the layer, from their last samples before the mark."""
        last = {}
        for event in self.events(log):
            if event["op"] == "snapshot" and event["name"] == mark:
                break
            if event["op"] == "pool_sample" and event["layer"] == layer:
                last[event["address"]] = (event["bytes"], event.get("aux0", 0))
        return tuple(sum(sample[i] for sample in last.values()) for i in range(2))
