"""The pytest plugin: limits, leak checks and baselines of the GPU memory of tests (docs/pytest.md).

pytest is started again, once, below `memprof run`: only then the recorder is in the process from its beginning, and in
the workers of pytest-xdist, which inherit the environment. Each process has its own log."""

import json
import os
import sys
import types

import pytest

import memprof
from memprof._pytest import words
from memprof import _command
from memprof._pytest.part import Failure, Part, ask, loaded, tidy

_STARTED = "MEMPROF_PYTEST"
_MARKERS = (
    "limit_gpu_memory(size, total=False): fails the test if it has more than `size` (\"2 GiB\") of GPU memory in use, "
    "beyond what was in use when it began; with total, including that.",
    "limit_gpu_leaks(size=0): fails the test if more than `size` of GPU memory that it allocated is alive after its "
    "teardown.",
)


def pytest_addoption(parser):
    group = parser.getgroup("gpu-memprof", "memory of GPUs (memprof)")
    group.addoption("--gpu-memprof", action="store_true", help="Record GPU memory, and check the markers limit_gpu_memory "
                    "and limit_gpu_leaks. Each of the options below implies it.")
    group.addoption("--gpu-memprof-sim", action="store_true", help="On the stand-in GPU: needs no GPU. Allocation is real, "
                    "values are not: kernels do nothing.")
    group.addoption("--gpu-memprof-device", metavar="SPEC", help="Which stand-in GPU, such as gpu=A100-40GB or memory=24GiB; "
                    "implies --gpu-memprof-sim.")
    group.addoption("--gpu-memprof-output", metavar="DIR", help="Where the logs are kept (default: .gpu-memprof in the "
                    "root folder).")
    group.addoption("--gpu-memory-baseline", metavar="FILE", help="Fail tests whose peak is above the one in FILE.")
    group.addoption("--gpu-memory-baseline-update", action="store_true", help="Write the peaks of tests that pass to the "
                    "baseline in place of comparing.")
    group.addoption("--gpu-memory-tolerance", metavar="PERCENT", type=float, default=5.0, help="How far a peak may be above "
                    "its baseline (default 5).")


def _wanted(options):
    return bool(options.gpu_memprof or options.gpu_memprof_sim or options.gpu_memprof_device or options.gpu_memprof_output
                or options.gpu_memory_baseline or options.gpu_memory_baseline_update)


def _folder(config):
    named = config.known_args_namespace.gpu_memprof_output
    return os.path.abspath(named) if named else os.path.join(str(config.rootpath), ".gpu-memprof")


def _make_folder(folder):
    """Without the logs of processes that are gone."""
    os.makedirs(folder, exist_ok=True)
    for name in os.listdir(folder):
        pid = name[:-len(".mprof")]
        if name.endswith(".mprof") and pid.isdigit() and not os.path.exists(f"/proc/{pid}"):
            os.unlink(os.path.join(folder, name))


def _again(options, folder):
    """The command line that starts this pytest below `memprof run`."""
    program = _command.path()
    if program is None:
        raise pytest.UsageError("--gpu-memprof: there is no memprof command: set MEMPROF_COMMAND")
    line = [program, "run", "-o", os.path.join(folder, "%p.mprof")]
    if options.gpu_memprof_sim or options.gpu_memprof_device:
        line.append("--sim" + (f"={options.gpu_memprof_device}" if options.gpu_memprof_device else ""))
    # Before Python 3.10 it is not known how this one was started.
    started = getattr(sys, "orig_argv", None)
    return line + ["--", sys.executable, *(started[1:] if started else ["-m", "pytest", *sys.argv[1:]])]


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config):
    options = early_config.known_args_namespace
    if not _wanted(options) or loaded():
        return
    if hasattr(early_config, "workerinput") or os.environ.get("PYTEST_XDIST_WORKER"):
        return
    if os.environ.get(_STARTED):
        raise pytest.UsageError("--gpu-memprof: the recorder cannot be loaded into this Python: see 'memprof doctor'")
    folder = _folder(early_config)
    line = _again(options, folder)
    _make_folder(folder)
    # pytest has redirected the standard streams already.
    capture = early_config.pluginmanager.getplugin("capturemanager")
    if capture is not None:
        capture.stop_global_capturing()
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(line[0], line, dict(os.environ, **{_STARTED: "1"}))


def pytest_configure(config):
    for marker in _MARKERS:
        config.addinivalue_line("markers", marker)
    if config.option.gpu_memory_baseline_update and not config.option.gpu_memory_baseline:
        raise pytest.UsageError("--gpu-memory-baseline-update: which file? Name it by --gpu-memory-baseline")
    config.pluginmanager.register(_Plugin(config), "gpu-memprof-checks")


class _Checks:
    """What is asked of one test, and its part of the log."""

    def __init__(self, item, baseline):
        self.part = Part(item.nodeid)
        self.limit = self.leaks = None
        self.total = False
        self.wrong = None  # the error in a marker
        self.peak = None
        self.baseline = baseline
        for reader in (self.limit_gpu_memory, self.limit_gpu_leaks):
            marker = item.get_closest_marker(reader.__name__)
            try:
                if marker:
                    reader(*marker.args, **marker.kwargs)
            except (TypeError, ValueError) as error:
                self.wrong = f"{reader.__name__}: {error}".replace("_Checks.", "")

    def limit_gpu_memory(self, size, total=False):
        self.limit, self.total = words.parse_size(size), bool(total)

    def limit_gpu_leaks(self, size=0):
        self.leaks = words.parse_size(size)


class _Plugin:
    def __init__(self, config):
        self._options = config.option
        self._config = config
        self._is_worker = hasattr(config, "workerinput")
        self._on = loaded()
        self._measures = self._on and bool(config.option.gpu_memory_baseline)
        self._checks = {}  # by nodeid
        self._baseline = self._read_baseline() if config.option.gpu_memory_baseline else {}
        self._unchecked, self._peaks, self._new = 0, {}, []

    # The baseline.

    def _path(self):
        return os.path.join(str(self._config.invocation_params.dir), self._options.gpu_memory_baseline)

    def _read_baseline(self):
        try:
            with open(self._path(), encoding="utf-8") as file:
                found = json.load(file)
            if not isinstance(found, dict) or not all(type(peak) is int and peak >= 0 for peak in found.values()):
                raise ValueError("not an object of numbers of bytes by test")
            return found
        except FileNotFoundError:
            if self._options.gpu_memory_baseline_update:
                return {}
            raise pytest.UsageError(f"{self._path()}: not there; --gpu-memory-baseline-update makes it") from None
        except (OSError, ValueError) as error:
            raise pytest.UsageError(f"{self._path()}: {error}") from None

    def _write_baseline(self):
        text = json.dumps({**self._baseline, **self._peaks}, indent=1, sort_keys=True) + "\n"
        with open(self._path() + ".part", "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(self._path() + ".part", self._path())

    # Around each test.

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item):
        if not self._on:
            yield
            return
        checks = self._checks[item.nodeid] = _Checks(item, self._baseline.get(item.nodeid))
        if self._measures or checks.limit is not None or checks.leaks is not None:
            tidy()
        with checks.part.run(item.nodeid):
            yield

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item):
        yield
        checks = self._checks.get(item.nodeid)
        if checks is not None and checks.leaks is not None:
            _let_go(item)
            tidy()
            checks.part.mark("is torn down")

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item, call):
        outcome = yield
        report = outcome.get_result()
        checks = self._checks.get(item.nodeid)
        if checks is None:
            if call.when == "call" and any(item.get_closest_marker(m.split("(")[0]) for m in _MARKERS):
                report.gpu_memprof = {"unchecked": True}
            return
        try:
            if call.when == "call":
                self._judge_call(checks, report)
            elif call.when == "teardown":
                del self._checks[item.nodeid]
                if checks.leaks is not None and report.passed:
                    self._judge_teardown(checks, report)
        except Failure as error:
            _fail(report, [f"GPU memory could not be checked: {error}"])

    def _judge_call(self, checks, report):
        if checks.wrong is not None:
            _fail(report, [checks.wrong])
        elif report.failed:
            peak = checks.part.peak()
            if peak.rise > 0:
                lines = words.peak_lines(peak, checks.part.arguments_of_peak(), memprof.log_path())
                report.sections.append(("GPU memory", "\n".join(lines)))
        elif report.passed and (self._measures or checks.limit is not None):
            peak = checks.part.peak(checks.total)
            # Most tests of a program use no GPU: they need no line in the baseline.
            if peak.rise > 0 or checks.baseline is not None:
                report.gpu_memprof = {"peak": peak.rise, "new": checks.baseline is None}
            report.user_properties.append(("gpu_memory_peak_bytes", peak.rise))
            first = self._first_line(checks, peak)
            if first:
                arguments = checks.part.arguments_of_peak()
                if checks.total:
                    arguments = ["--from", "start", "--to", f"event={peak.event}"]
                    peak.sites = ask("diff", "--threshold=0", *arguments)["sites"]
                _fail(report, [first, *words.peak_lines(peak, arguments, memprof.log_path(), checks.total)])

    def _first_line(self, checks, peak):
        """Says what does not hold; None if all does."""
        held = peak.total if checks.total else peak.rise
        if checks.limit is not None and held > checks.limit:
            return (f"GPU memory: the peak of {words.size(held)} is {words.size(held - checks.limit)} above the limit of "
                    f"{words.size(checks.limit)}{' in total' if checks.total else ''}.")
        if checks.baseline is None or self._options.gpu_memory_baseline_update:
            return None
        if peak.rise > checks.baseline * (1 + self._options.gpu_memory_tolerance / 100):
            more = f", {100 * (peak.rise / checks.baseline - 1):.3g} %" if checks.baseline else ""
            return (f"GPU memory: the peak of {words.size(peak.rise)} is {words.size(peak.rise - checks.baseline)}{more} above "
                    f"the baseline of {words.size(checks.baseline)}; allowed are {self._options.gpu_memory_tolerance:g} %.")
        return None

    @staticmethod
    def _judge_teardown(checks, report):
        sites = checks.part.left()
        left = sum(site["after_bytes"] for site in sites)
        if left > checks.leaks:
            _fail(report, [f"GPU memory: the test left {words.size(left)} behind; allowed are {words.size(checks.leaks)}.",
                           *words.left_lines(sites, checks.part.arguments_of_left(), memprof.log_path())])

    # The whole run. Workers' reports arrive here too.

    def pytest_runtest_logreport(self, report):
        found = getattr(report, "gpu_memprof", None) or {}
        self._unchecked += bool(found.get("unchecked"))
        if "peak" in found and report.passed:
            self._peaks[report.nodeid] = found["peak"]
        if found.get("new"):
            self._new.append(report.nodeid)

    def pytest_report_header(self):
        if self._on:
            return f"gpu-memprof: logs in {_folder(self._config)}"
        return None

    def pytest_terminal_summary(self, terminalreporter):
        lines = []
        if self._unchecked:
            lines.append(f"{self._unchecked} tests have limits of GPU memory that were not checked: add --gpu-memprof")
        if self._options.gpu_memory_baseline and not self._is_worker:
            if self._options.gpu_memory_baseline_update:
                self._write_baseline()
                lines.append(f"{len(self._peaks)} peaks written to {self._options.gpu_memory_baseline}")
            elif self._new:
                lines.append(f"{len(self._new)} tests have no baseline yet: add --gpu-memory-baseline-update")
        if lines:
            terminalreporter.section("GPU memory")
            for line in lines:
                terminalreporter.line(line)


def _let_go(item):
    """Of the fixtures' values, and of what the test's `self` has: pytest does so only after the teardown."""
    instance = getattr(item, "instance", None)
    if instance is not None and not isinstance(instance, (type, types.ModuleType)):
        getattr(instance, "__dict__", {}).clear()
    (getattr(item, "funcargs", None) or {}).clear()


def _fail(report, lines):
    report.outcome = "failed"
    report.longrepr = "\n".join(lines)
