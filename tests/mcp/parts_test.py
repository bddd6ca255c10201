"""Parts of `memprof mcp` that need no SDK: which logs may be read, limits, the form and size of answers, source lines.

usage: parts_test.py SOURCE_DIR MEMPROF
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE, MEMPROF = pathlib.Path(sys.argv[1]).resolve(), os.path.abspath(sys.argv[2])
sys.path.insert(0, str(SOURCE / "python"))

from memprof._mcp import answers, causes, frames, overview, ranking, sizes, source, source_text, stores  # noqa: E402
from memprof._mcp.desk import Desk  # noqa: E402
from memprof._mcp.errors import McpError  # noqa: E402
from memprof._mcp.logs import Logs  # noqa: E402
from memprof._mcp.verbs import Verbs  # noqa: E402


class Scratch(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(os.path.realpath(folder.name))

    def write(self, name, text=""):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def command(self, script):
        path = self.write("command", "#!/bin/sh\n" + script)
        path.chmod(0o755)
        return str(path)


class WhichLogs(Scratch):
    def test_only_logs_below_the_folders(self):
        inside = self.write("logs/job/0.mprof")
        self.write("logs/job/notes.txt")
        self.write("outside.mprof")
        (self.folder / "logs/link.mprof").symlink_to(self.folder / "outside.mprof")
        (self.folder / "logs/away").symlink_to(self.folder)
        logs = Logs([str(self.folder / "logs")])
        self.assertEqual(logs.listed(), {"job/0.mprof": str(inside)})
        self.assertEqual(logs.paths("job/0.mprof"), [str(inside)])
        for name in ("../outside.mprof", "link.mprof", "away/outside.mprof", str(inside), "/etc/passwd", "", "/", "..", "../",
                     "job/../job/0.mprof", "job/notes.txt", "job", "--help", "a\0b", "x" * 100_000):
            with self.assertRaisesRegex(McpError, "no such log; list_runs", msg=name[:40]):
                logs.paths(name)

    def test_a_folder_is_its_logs_together(self):
        paths = [str(self.write(f"job/{rank}.mprof")) for rank in range(3)]
        self.write("job/deeper/3.mprof")
        self.assertEqual(Logs([str(self.folder)]).paths("job/"), paths)
        self.assertEqual(Logs([str(self.folder / "job")]).paths("./"), paths)
        for rank in range(3, 260):
            self.write(f"job/{rank}.mprof")
        with self.assertRaisesRegex(McpError, "at most 255"):
            Logs([str(self.folder)]).paths("job/")

    def test_alike_names_stay_apart(self):
        for place in ("one", "other"):
            self.write(f"{place}/x.mprof")
        listed = Logs([str(self.folder / "one"), str(self.folder / "other"), str(self.folder / "one/x.mprof")]).listed()
        self.assertEqual(sorted(listed), ["other/x.mprof", "x.mprof"])

    def test_what_is_not_there(self):
        with self.assertRaisesRegex(McpError, "no such file or folder"):
            Logs(["/no/such/place"])


class Calls(Scratch):
    def test_a_log_that_is_none(self):
        path = str(self.write("x.mprof", "not a log"))
        with self.assertRaisesRegex(McpError, r"^memprof"):
            Verbs(MEMPROF, 20).ask("report", [path])

    def test_a_name_is_no_option(self):
        path = self.write("--help.mprof", "not a log")
        here = os.getcwd()
        os.chdir(self.folder)
        try:
            with self.assertRaisesRegex(McpError, r"--help\.mprof"):
                Verbs(MEMPROF, 20).ask("report", [path.name])
        finally:
            os.chdir(here)

    def test_time_and_size_are_bounded(self):
        path = str(self.write("x.mprof"))
        begun = time.monotonic()
        with self.assertRaisesRegex(McpError, "took longer than 0.3 s"):
            Verbs(self.command("exec sleep 20"), 0.3).ask("report", [path])
        self.assertLess(time.monotonic() - begun, 10)
        with self.assertRaisesRegex(McpError, "larger than 64 MiB"):
            Verbs(self.command("exec yes"), 60).ask("report", [path])

    def test_other_failures_are_sentences(self):
        path = str(self.write("x.mprof"))
        for script, words in (("echo [", "did not answer with JSON"), ("kill -SEGV $$", "ended with status -11"),
                              ("echo 'memprof: too bad' >&2; exit 1", "memprof: too bad")):
            with self.assertRaisesRegex(McpError, words):
                Verbs(self.command(script), 20).ask("report", [path])
        with self.assertRaisesRegex(McpError, "NUL"):
            Verbs(MEMPROF, 20).ask("peak", [path], "--what-if=a\0=1")

    def test_an_answer_is_kept_until_the_log_changes(self):
        path = self.write("x.mprof")
        verbs = Verbs(self.command(f"echo x >> {self.folder}/calls; echo '{{}}'"), 20)
        for _ in range(3):
            verbs.ask("report", [str(path)])
        self.assertEqual((self.folder / "calls").read_text(), "x\n")
        path.write_text("more")
        verbs.ask("report", [str(path)])
        self.assertEqual((self.folder / "calls").read_text(), "x\nx\n")

    def test_the_client_s_input_is_not_read(self):
        code = (f"import sys; sys.path.insert(0, {str(SOURCE / 'python')!r}); from memprof._mcp.verbs import Verbs; "
                f"print(Verbs({self.command('cat; echo 1')!r}, 20).ask('report', []))")
        done = subprocess.run([sys.executable, "-c", code], input="999", capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, "1\n")


class Answers(unittest.TestCase):
    def test_pages(self):
        rows = [{"number": number, "text": "x" * 390} for number in range(200)]
        seen, cursor, calls = [], 0, 0
        while cursor is not None:
            shown, page = answers.paged(rows, 10**9, cursor)
            text = answers.fitted(answers.answer({"rows": shown}, answers.sure("high", ""), [], (), page))
            self.assertLessEqual(len(text), answers.LARGEST)
            made = json.loads(text)
            seen += [row["number"] for row in made["facts"]["rows"]]
            self.assertEqual(made["page"]["shown"], len(made["facts"]["rows"]))
            cursor, calls = made["page"]["next_cursor"], calls + 1
        self.assertEqual(seen, list(range(200)))
        self.assertGreater(calls, 4)

    def test_odd_limits_and_cursors(self):
        for limit, cursor, shown in ((-5, -5, 1), (0, 0, 1), (2, 2, 1), (2, 10**30, 0), (10**30, 0, 3)):
            self.assertEqual(len(answers.paged([1, 2, 3], limit, cursor)[0]), shown, (limit, cursor))

    def test_no_fact_makes_an_answer_long(self):
        made = answers.answer({"small": 1, "large": [{"x": "y" * 1000}] * 1000}, answers.sure("high", "z" * 5000), [])
        text = answers.fitted(made)
        self.assertLessEqual(len(text), answers.LARGEST)
        self.assertEqual(json.loads(text)["facts"], {"small": 1, "large": "left out: too long for one answer"})
        self.assertEqual(len(json.loads(text)["confidence"]["words"]), answers.LONGEST)


class Lines(unittest.TestCase):
    STACK = [{"function": "f", "file": "/v/site-packages/torch/nn.py", "line": 3, "module": "python", "package": True},
             {"function": "main", "file": "/data/a/train.py", "line": 51, "module": "python"}]

    def test_the_line_of_a_site(self):
        site = {"site": "main (train.py:51), in f (torch/…/nn.py:3)", "stack": self.STACK}
        self.assertEqual(frames.line_of(site), {"file": "/data/a/train.py", "line": 51, "function": "main"})
        self.assertEqual(frames.line_of({"site": "cuBLAS workspace for backward of main (train.py:7)"}),
                         {"file": "train.py", "line": 7})
        self.assertIsNone(frames.line_of({"site": "libc10_cuda.so+0x1b9b9"}))
        self.assertEqual(frames.own_stack(site), ["/data/a/train.py:51 main"])
        fused = {"function": "run", "file": "/data/a/libs/fusedops/ops.py", "line": 9, "module": "python", "package": True}
        self.assertEqual(frames.own_stack({"stack": [fused, *self.STACK]}), ["/data/a/train.py:51 main"])

    def test_what_a_holder_s_path_names(self):
        holder = {"path": "list `metrics.predictions` of `Accuracy`, assigned at metrics.py:12 (global `metrics`, train.py:22)"}
        self.assertEqual(frames.holder_names(holder)[:2], ["predictions", "metrics"])
        self.assertEqual(frames.holder_lines(holder, {"file": "/data/a/train.py", "line": 1}),
                         [{"file": "/data/a/metrics.py", "line": 12}, {"file": "/data/a/train.py", "line": 22}])

    def test_functions_that_hold_an_argument(self):
        for path, names in (("`x`, argument of save() (callback of atexit)", ["atexit", "save()", "x"]),
                            ("`x`, variable of the closure Up.put.<locals>.report(), held by `jobs[…]._calls[0]` (local `jobs`)",
                             ["report()", "x", "_calls", "jobs"]),
                            ("`x`, default argument of P.show.on_move(), held by `p.q['a'][0]` (global `p`, a.py:4)",
                             ["on_move()", "x", "q", "p"]), ("`tape[…][1]` (the context of a thread)", ["tape"])):
            self.assertEqual(frames.holder_names({"path": path})[:len(names)], names)

    def test_what_closes_a_cycle_comes_first(self):
        path = ("`self.samples`, `self` of the bound method Loader.collate(), held by object of `map`, held by `Loader.stream`, "
                "in a cycle that waits for the collector: `self`, `self` of the bound method Loader.collate(), held by "
                "object of `map`, held by `Loader.stream` is this Loader (Loader → map → method → Loader)")
        self.assertEqual(frames.holder_names({"path": path})[:2], ["stream", "collate()"])
        path = "saved by ExpBackward0 for the graph of `self.ahead`, local of the generator P.produce(), held by `P.iterator`"
        self.assertEqual(frames.holder_names({"path": path}), ["produce(...)", "ahead", "iterator", "P"])

    def test_functions_in_a_partial_or_a_cache(self):
        holder = {"path": "`s.x`, argument in a partial of clear(), held by `partial` (hooks of a graph of autograd)"}
        self.assertEqual(frames.holder_names(holder), ["clear()", "x", "s", "partial"])
        holder = {"path": "cache of `Net.encode()` (global `Net`, a.py:3)"}
        self.assertEqual(frames.holder_names(holder)[:2], ["@encode", "encode()"])
        text = ["class Net:", "    @log", "    @functools.lru_cache(None)", "    def encode(self): pass", "    @cache", "    def x(): 1"]
        self.assertEqual(stores.scores(text, ["@encode"]), {3: (26, "@encode")})

    def test_names_like_methods_and_classes_of_a_cycle(self):
        holder = {"path": "`r.values.state` of `R`, assigned at a.py:14, held by `r.keys()[…]` (global `r`, a.py:34)"}
        self.assertEqual(frames.holder_names(holder), ["state", "values", "r", "R"])
        holder = {"path": "`A.x`, in a cycle that waits for the collector: `A.keys()[…]` is this A (A → Net → A)"}
        self.assertEqual(frames.holder_names(holder), ["A", "x", "self@A", "self@Net"])
        holder = {"path": "object of `Pickler`, held by `log.pickler` (local `log` of train(), at a.py:27)"}
        self.assertEqual(frames.holder_names(holder)[0], "pickler.*")
        text = ["class A:", "    def f(self, x):", "        self.me = self", "        put(1, self)", "        x(self.y)", "g(self)"]
        self.assertEqual(stores.scores(text, ["self@A", "self@B"]), {3: (20, "self@A"), 4: (20, "self@A")})
        self.assertEqual(stores.stored(["p.dump(x)", "p.dump()", "p = 1", "q.p.load(1)"], ["p.*"]), [1, 4])

    def test_attributes_set_by_name(self):
        text = ['object.__setattr__(self, "x", y)', "setattr(a.b, 'x', y)", 'self.register_buffer("x", y)', 'print("x", y)',
                "for x in self.lot:", "lot = x"]
        self.assertEqual(stores.stored(text, ["x"]), [6, 1, 2, 3])

    def test_who_gave_an_argument(self):
        holder = {"path": "`old[0].weight` (local `old` of answer(), at a.py:19)"}
        self.assertEqual(frames.holder_names(holder, ["def answer(questions, *, old=None): pass"]),
                         ["weight", "old", "answer(...)"])
        for text in ([], ["def answer(): old = 1"], ["def other(old): pass"], ["def answer(old:"]):
            self.assertEqual(frames.holder_names(holder, text), ["weight", "old"])

    def test_holders_alike_count_together(self):
        made = [{"path": "`last`", "bytes": 5, "blocks": 1}] + \
            [{"path": f"`c['{key}'].x`, assigned at a.py:1", "bytes": 3, "blocks": 1} for key in "abc"]
        groups = frames.alike(made)
        self.assertEqual([(each["path"], each["bytes"], each["alike"]) for each in groups],
                         [("`c['a'].x`, assigned at a.py:1", 9, 3), ("`last`", 5, 1)])

    def test_lines_that_store_come_first(self):
        text = ["kept = []", "def f(x):", "    kept.append(x)  # kept[0] = 1", "    if kept == x: print(kept)", "    kept[0] = x",
                "    notkept.append(x)", "    kept = x"]
        self.assertEqual(stores.stored(text, ["kept"]), [3, 5, 7, 1])
        self.assertEqual(stores.stored(["best = full()", "best = minimum(best, loss)"], ["best"]), [2, 1])
        self.assertEqual(stores.stored(['"""To change:', 'kept = 1 there"""', "kept = x  # kept[0] = 1"], ["kept"]), [3])
        self.assertEqual(stores.stored(["def f(:", "kept = x"], ["kept"]), [2])
        self.assertEqual(stores.stored(["part = self.kept.setdefault(1, {})", "part[2] = x", "other[2] = x"], ["kept"]), [1, 2])
        calls = ["def report(f):", "future.set_exception(error)", "add(1, report)", "report(2)", "calls[a][b] = report",
                 "self.x = report if a else b"]
        self.assertEqual(stores.stored(calls, ["future"]), [2])
        self.assertEqual(stores.stored(calls, ["report()", "calls"]), [5, 3, 6])
        self.assertEqual(stores.stored(calls, ["report(...)"]), [3, 5, 6, 4])
        self.assertEqual(stores.stored(["(" * 5000], ["a(" * 50, ""]), [])

    def test_hostile_text_takes_no_time(self):
        begun = time.monotonic()
        for line in ("a," * 500_000, "a=" * 500_000, "'" * 999_999, "def a" * 200_000, "a[" * 500_000, "a:" * 500_000):
            stores.scores([line], ["a", "a()", "a(...)", "@a"])
        self.assertLess(time.monotonic() - begun, 10)

    def test_what_looks_like_storing(self):
        text = ["def add(self, x, kept=None,", "        more=kept):", "    self.list.append(x)", "tape = Var('tape')", "kept.add(2)",
                "tape.set(3)", "async def f(kept=1): pass", "kept[1] = 2"]
        self.assertEqual(stores.stored(text, ["kept"]), [8, 5])
        self.assertEqual(stores.stored(text, ["tape"]), [6, 4])
        text = ["if a, b == 1: pass", "self.a, b = 1, 2", "x, self.a = 1, 2", "a: list = []", "a: list = b", "print(a, b=1)",
                "for a, b in c: d = 1", "heapq.heappush(self.a, b)", "bisect.insort(x, a)"]
        self.assertEqual({number: score for number, (score, _) in stores.scores(text, ["a"]).items()},
                         {2: 16, 3: 16, 4: 8, 5: 16, 8: 30})
        self.assertEqual(stores.scores(["a = b", "a = None"], ["a"]), {1: (26, "a"), 2: (8, "a")})  # the only one
        self.assertEqual(stores.scores(["a = b", "a = c"], ["a"]), {1: (16, "a"), 2: (16, "a")})
        self.assertEqual(stores.scores(["a = f", "x = f", "a = c"], ["a", "f()"])[1], (28, "f()"))

    def test_what_is_suspected_of_a_failure(self):
        big, small = {"site": "a (x.py:1)", "bytes": 100}, {"site": "b (x.py:2)", "bytes": 10}
        request = {"site": "r (x.py:9)", "bytes": 50, "sites": [big, small], "cause": "capacity"}

        def first(**more):
            return frames.lines_of(causes._suspects({**request, **more}))[0]["line"]

        self.assertEqual(first(), 1)
        self.assertEqual(first(bytes=500), 9)
        self.assertEqual(first(cause="too_large"), 9)
        self.assertEqual(first(growth={"site": "g (x.py:7)"}), 7)
        self.assertEqual(first(larger_step={"site": "l (x.py:8)"}), 8)

    def test_instants(self):
        for at, options in (("peak", []), ("oom", ["--at=oom"]), ("step=3", ["--step=3"]),
                            ("snapshot=a b", ["--at=snapshot=a b"])):
            self.assertEqual(sizes._instant(at), options)
        for at in ("", "step=", "step=-1", "step=3 --top=0", "--json", "snapshot=", "end"):
            with self.assertRaises(McpError, msg=at):
                sizes._instant(at)


class Text(Scratch):
    def read(self, where, file, command="exit 1"):
        self.write("x.mprof")
        desk = Desk(Logs([str(self.folder / "x.mprof")]), Verbs(self.command(command), 20), where)
        return source_text.lines(desk, "x.mprof", file)

    def test_only_source_below_the_folder(self):
        self.write("src/a/train.py", "one\ntwo\n")
        self.write("src/.env", "secret")
        self.write("secret.py", "secret")
        (self.folder / "src/out.py").symlink_to(self.folder / "secret.py")
        where = str(self.folder / "src")
        for file in ("/build/machine/a/train.py", "a/train.py", f"{where}/a/train.py", "../../a/train.py"):
            self.assertEqual(self.read(where, file), (["one", "two"], ""), file)
        for file in (f"{self.folder}/secret.py", "../secret.py", "out.py", ".env", "/etc/passwd", "a", "a/../../secret.py", ""):
            self.assertEqual(self.read(where, file)[0], [], file)
        self.assertIn("--source", self.read(None, "a/train.py")[1])

    def test_else_what_the_log_keeps(self):
        kept = """echo '{"kept_lines": ["kept", "there"]}'"""
        self.write("src/a/train.py", "read\n")
        where = str(self.folder / "src")
        self.assertEqual(self.read(where, "a/train.py", kept), (["read"], ""))
        self.assertEqual(self.read(where, "b/other.py", kept), (["kept", "there"], ""))
        self.assertEqual(self.read(None, "a/train.py", kept), (["kept", "there"], ""))
        self.assertEqual(self.read(None, "a/.env", kept)[0], [])
        self.assertIn("--source", self.read(None, "a/train.py", """echo '{"kept_lines": null}'""")[1])

    def test_only_files_that_a_stack_names(self):
        entries = [{"site": "", "stack": [{"file": "/data/a/train.py", "line": 1, "function": ""}]}]
        for file in ("/data/a/train.py", "train.py", "a/train.py"):
            self.assertEqual(source._named(file, entries), "/data/a/train.py")
        for file in ("other.py", "rain.py", "", "/etc/passwd", "../train.py"):
            with self.assertRaisesRegex(McpError, "no stack of this log", msg=file):
                source._named(file, entries)


class Ranked(unittest.TestCase):
    TEXT = ["def made():", "    return cat((kept, new))", "def main():", "    kept = None", "    kept = made()"]
    HOLDER = {"path": "saved by ExpBackward0 for the graph of `kept[1]` (local `kept` of main(), at a.py:5)"}

    def entry(self, *lines, holders=()):
        stack = [{"function": "f", "file": "/d/a.py", "line": line, "module": "python"} for line in lines]
        return {"site": f"f (a.py:{lines[0]})", "stack": stack, "holders": list(holders)}

    def lines(self, entry, holder, others=(), text=()):
        return [each["line"] for each in ranking.ranked(entry, holder, others, lambda file: list(text))]

    def test_what_stores_and_what_made_both(self):
        entry, keeper = self.entry(7, 5), self.entry(2, 5, holders=[{"path": self.HOLDER["path"].split("graph of ")[1]}])
        self.assertEqual(self.lines(entry, self.HOLDER, [entry, keeper], self.TEXT), [5, 7, 2, 4])
        self.assertEqual(self.lines(entry, self.HOLDER, [entry], self.TEXT), [5, 7, 4])
        ranked = ranking.ranked(entry, self.HOLDER, [keeper], lambda file: self.TEXT)
        self.assertEqual([each["evidence"] for each in ranked[:3]],
                         ["stores into kept; on the holder's path; on the stack of the allocation",
                          "made here; on the stack of the allocation", "makes the tensor whose graph keeps it"])

    def test_a_hook_s_graph_may_be_of_what_else_grows(self):
        hook = {"path": "`x`, variable of the closure f.<lambda>() (hooks of a graph of autograd)", "kind": "autograd"}
        losses = self.entry(3, holders=[{"path": "list `losses`", "kind": "python", "bytes": 1, "blocks": 1}])
        text = ["losses.append(loss)", "x = 1", "", "", ""]
        self.assertEqual(self.lines(self.entry(9), hook, [losses], text), [1, 2, 9])
        self.assertEqual(self.lines(self.entry(9), hook, [], text), [2, 9])

    def test_without_text_what_the_process_said(self):
        held, listed = {"path": "`a.x` of `A`, assigned at a.py:3"}, {"path": "list `a.x` of `A`, assigned at a.py:3"}
        self.assertEqual(self.lines(self.entry(8), held), [8, 3])
        self.assertEqual(self.lines(self.entry(3, 8), held), [3])
        self.assertEqual(self.lines(self.entry(8), listed), [8, 3])
        self.assertEqual(self.lines(self.entry(8), listed, text=["", "a.x.append(1)", "a.x = []"]), [2, 8, 3])

    def test_what_stays_without_growing(self):
        def report(at_end, holders, own, workspace=0):
            return {"live_at_exit": [{"bytes": at_end, "holders": holders}],
                    "peaks": [{"by_library": [{"role": "program", "of": "blocks", "bytes": own},
                                              {"role": "workspace", "of": "blocks", "bytes": workspace}]}]}

        self.assertTrue(overview._stays(report(60, [1], 100, workspace=900)))
        for other in (report(50, [1], 100), report(60, [], 100), report(0, [1], 0)):
            self.assertFalse(overview._stays(other))


class Command(unittest.TestCase):
    def run_mcp(self, *arguments):
        return subprocess.run([MEMPROF, "mcp", *arguments], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
                              env={**os.environ, "MEMPROF_PYTHON": sys.executable, "PYTHONNOUSERSITE": "1"}, timeout=50)

    def test_without_the_sdk_one_line_says_what_to_install(self):
        done = subprocess.run([sys.executable, "-c", "import sys; sys.modules['mcp'] = None\n"
                               "from memprof._mcp.__main__ import main; sys.exit(main([]))"], capture_output=True, text=True,
                              check=False, env={**os.environ, "PYTHONPATH": str(SOURCE / "python")})
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^memprof mcp: the Python module mcp is missing: pip install 'memprof-gpu\[mcp\]'.*\n$")

    def test_the_skill_is_installed(self):
        done = self.run_mcp("--skill")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, (SOURCE / "python/memprof/_mcp/SKILL.md").read_text())
        self.assertLessEqual(len(done.stdout.splitlines()), 60)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
