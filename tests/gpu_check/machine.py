"""The machine that is checked: where its CUDA is, and running guests on it, bare and recorded."""
import csv
import io
import json
import os
import subprocess
import time
from pathlib import Path


class GuestFailed(Exception):
    """A guest could not be run to its end; the text says why."""


class OutOfTime(Exception):
    pass


def _toolkit(build):
    """The toolkit's folder: CUDA_HOME, the one that the build was configured with, or the usual place."""
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
        self._logs = 0

    def environment(self):
        """What makes programs find this machine's CUDA."""
        if self.stand_in:
            return {"LD_LIBRARY_PATH": str(self.build / "simcuda"), "SIMCUDA": "memory=8GiB",
                    "GPU_CHECK_CUPTI": str(self.build / "simcuda/libcupti.so.13"),
                    "MEMPROF_CUPTI_LIBRARY": str(self.build / "simcuda/libcupti.so.13")}
        folders = []
        if self.toolkit:
            folders = [str(self.toolkit / part) for part in
                       ("lib64", "lib", "targets/x86_64-linux/lib", "extras/CUPTI/lib64")
                       if (self.toolkit / part).is_dir()]
        # What a packed folder brought along comes last: the machine's own CUDA is what is checked.
        folders += [os.environ.get("LD_LIBRARY_PATH", ""), str(self.build / "carried/cuda")]
        return {"LD_LIBRARY_PATH": ":".join(folder for folder in folders if folder)}

    def left_s(self):
        return self.deadline - time.monotonic()

    def run(self, command, extra=None, most_s=60):
        """Standard output of a program that ends with status 0."""
        most = min(most_s, self.left_s())
        if most <= 1:
            raise OutOfTime
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith("MEMPROF_") and key not in ("LD_PRELOAD", "CUDA_INJECTION64_PATH")}
        environment.update({**self.environment(), **(extra or {})})
        words = [str(word) for word in command]
        try:
            done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=most,
                                  cwd=self.scratch, errors="replace")
        except subprocess.TimeoutExpired as error:
            raise GuestFailed(f"{Path(words[0]).name} {' '.join(words[1:])} did not end in {most:.0f} s") from error
        except OSError as error:
            raise GuestFailed(f"{words[0]}: {error.strerror}") from error
        if done.returncode != 0:
            said = (done.stderr.strip().splitlines() or [""])[-1]
            raise GuestFailed(f"{Path(words[0]).name} {' '.join(words[1:])} ended with {done.returncode}: {said}")
        return done.stdout

    def guest(self, name, *arguments):
        return [self.guests / name, *arguments]

    def new_log(self):
        self._logs += 1
        return self.scratch / f"check{self._logs}.mprof"

    def record(self, command, extra=None, injected=False, most_s=60):
        """Runs a program recorded; its output, and the log's path. The log may not be there."""
        log = self.new_log()
        variable = "CUDA_INJECTION64_PATH" if injected else "LD_PRELOAD"
        output = self.run(command, {variable: str(self.recorder), "MEMPROF_OUTPUT": str(log), **(extra or {})}, most_s)
        return output, log

    def answer(self, output):
        """A guest's JSON."""
        try:
            return json.loads(output)
        except ValueError as error:
            raise GuestFailed(f"a guest said {output[:80]!r}") from error

    # Logs -----------------------------------------------------------------------------------------

    def ask(self, verb, log, *options):
        if not log.exists():
            raise GuestFailed("no log was written")
        return self.memprof_says(verb, *options, log)

    def memprof_says(self, *arguments):
        carried = self.build / "carried"
        return self.run([self.memprof, *arguments], {"LD_LIBRARY_PATH": str(carried)} if carried.is_dir() else None)

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
