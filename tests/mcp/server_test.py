"""The server, asked by the SDK's own client over standard input and output, on logs of the demo trainer: the shape of each
tool's answer (golden/, rewritten with MEMPROF_UPDATE_GOLDEN=1), and what hostile arguments get.

usage: server_test.py SOURCE_DIR MEMPROF DEMO_TRAINER
"""
import asyncio
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE, MEMPROF, DEMO = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
GOLDEN = pathlib.Path(__file__).resolve().parent / "golden"

try:
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client
except ImportError:
    print("skipped: this Python has no package mcp")
    sys.exit(77)

SMALL = ["--layers", "1", "--dim", "32", "--context", "32", "--quiet"]
LEAKING = [*SMALL, "--steps", "16", "--leak", "history"]
TOOLS = {"list_runs": {}, "summary": {"log": "job/leak.mprof"}, "leaks": {"log": "job/leak.mprof"},
         "oom": {"log": "job/oom.mprof"}, "holders": {"log": "job/leak.mprof"}, "peak": {"log": "job/leak.mprof"},
         "diff": {"before": "job/fine.mprof", "after": "job/leak.mprof"},
         "what_if": {"log": "job/leak.mprof", "text": "history.cc", "factor": 0.5},
         "source_lines": {"log": "job/leak.mprof", "file": "history.cc", "line": 8},
         "steps": {"log": "job/leak.mprof"}, "advice": {"log": "job/leak.mprof"}}


def shape(value):
    """Types in place of values; of rows and hints, the first."""
    if isinstance(value, dict):
        return {name: shape(each) for name, each in sorted(value.items())}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return "number" if isinstance(value, (int, float)) and not isinstance(value, bool) else type(value).__name__


def failed(result):
    return getattr(result, "is_error", getattr(result, "isError", None))


class Server(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        cls.job = cls.folder / "logs/job"
        cls.job.mkdir(parents=True)
        for name, sim, words in (("fine", "--sim", [*SMALL, "--steps", "16"]), ("leak", "--sim", LEAKING),
                                 ("oom", "--sim=memory=290MiB", [*SMALL, "--steps", "400", "--leak", "history"])):
            subprocess.run([MEMPROF, "run", sim, "--sources", "-o", cls.job / f"{name}.mprof", "--", DEMO, *words], check=False,
                           capture_output=True, timeout=100)
        whole = (cls.job / "leak.mprof").read_bytes()
        (cls.folder / "logs/broken").mkdir()
        (cls.folder / "logs/broken/cut.mprof").write_bytes(whole[:len(whole) // 2])
        (cls.folder / "logs/broken/none.mprof").write_bytes(b"no log")
        shutil.copy(cls.job / "leak.mprof", cls.folder / "outside.mprof")

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def ask(self, *calls, source=SOURCE / "demo_trainer", tools=False):
        """The results of calls, each (tool, arguments), by one server."""
        async def session_of():
            words = ["mcp", f"--source={source}", "--seconds=60", str(self.folder / "logs")]
            environment = {**os.environ, "MEMPROF_PYTHON": sys.executable}
            async with stdio_client(StdioServerParameters(command=str(MEMPROF), args=words, env=environment)) as streams:
                async with ClientSession(*streams) as session:
                    await session.initialize()
                    if tools:
                        return (await session.list_tools()).tools
                    return [await session.call_tool(tool, arguments) for tool, arguments in calls]

        return asyncio.run(asyncio.wait_for(session_of(), 120))

    def test_tools_are_few_typed_and_read_only(self):
        tools = self.ask(tools=True)
        self.assertEqual(sorted(tool.name for tool in tools), sorted(TOOLS))
        for tool in tools:
            text = json.loads(tool.model_dump_json(by_alias=True))
            self.assertGreater(len(text["description"]), 60, tool.name)
            self.assertTrue(text["annotations"]["readOnlyHint"], tool.name)
            for name, argument in text["inputSchema"]["properties"].items():
                self.assertTrue({"type", "anyOf", "enum"} & set(argument), f"{tool.name}.{name}")

    def test_the_shape_of_each_answer(self):
        before = {path: path.stat().st_mtime_ns for path in self.folder.rglob("*")}
        for (name, arguments), result in zip(TOOLS.items(), self.ask(*TOOLS.items())):
            self.assertFalse(failed(result), f"{name}: {result.content[0].text}")
            text = result.content[0].text
            self.assertLessEqual(len(text), 12_000, name)
            answer = json.loads(text)
            self.assertLessEqual({"facts", "confidence", "cites", "next"}, set(answer), name)
            self.assertIn(answer["confidence"]["level"], ("high", "medium", "low", "none"))
            self.assertTrue(answer["cites"] and all("log" in each for each in answer["cites"]), name)
            for hint in answer["next"]:
                self.assertIn(hint["tool"], TOOLS)
            made = json.dumps(shape(answer), indent=1) + "\n"
            golden = GOLDEN / f"{name}.json"
            if os.environ.get("MEMPROF_UPDATE_GOLDEN"):
                golden.write_text(made)
            self.assertEqual(made, golden.read_text(), f"{name}: {arguments}")
        self.assertEqual(before, {path: path.stat().st_mtime_ns for path in self.folder.rglob("*")}, "something was written")

    def test_every_hint_can_be_followed(self):
        seen, pending = set(), [("list_runs", {}), ("summary", {"log": "job/oom.mprof"}), ("summary", {"log": "job/"})]
        for _ in range(4):
            results = self.ask(*pending)
            following = []
            for call, result in zip(pending, results):
                self.assertFalse(failed(result), f"{call}: {result.content[0].text}")
                for hint in json.loads(result.content[0].text)["next"]:
                    key = (hint["tool"], json.dumps(hint["arguments"], sort_keys=True))
                    if key not in seen:
                        seen.add(key)
                        following.append((hint["tool"], hint["arguments"]))
            pending = following
        self.assertGreater(len(seen), 12)

    def test_the_known_line_and_its_event(self):
        leaks, lines, oom = (json.loads(result.content[0].text) for result in self.ask(
            ("leaks", {"log": "job/leak.mprof"}), ("source_lines", TOOLS["source_lines"]), ("oom", TOOLS["oom"])))
        self.assertRegex(leaks["facts"]["lines"][0]["file"], r"leaks/history\.cc$")
        self.assertIn("score", leaks["confidence"]["words"])
        cite = leaks["cites"][0]
        events = subprocess.run([MEMPROF, "dump", "--json", "--op=alloc", self.job / "leak.mprof"], capture_output=True,
                                text=True, check=True).stdout.splitlines()
        event = next(each for each in map(json.loads, events) if each["seq"] == cite["event"])
        self.assertEqual(event["step"], cite["step"])
        text = (SOURCE / "demo_trainer/leaks/history.cc").read_text().splitlines()
        for row in lines["facts"]["rows"]:
            self.assertEqual(row["text"], text[row["line"] - 1])
        self.assertTrue(oom["facts"]["growth"])
        self.assertEqual(oom["next"][0]["tool"], "leaks")

    def test_text_that_the_log_keeps(self):
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        result, = self.ask(("source_lines", TOOLS["source_lines"]), source=elsewhere)
        text = (SOURCE / "demo_trainer/leaks/history.cc").read_text().splitlines()
        rows = json.loads(result.content[0].text)["facts"]["rows"]
        self.assertGreater(len(rows), 4)
        for row in rows:
            self.assertEqual(row["text"], text[row["line"] - 1])

    def test_hostile_arguments_get_a_sentence(self):
        outside = str(self.folder / "outside.mprof")
        calls = [("summary", {"log": name}) for name in (outside, "../outside.mprof", "/etc/passwd", "", "--help", "a\0b",
                                                         "x" * 50_000, "job/../../outside.mprof", "broken/none.mprof")]
        calls += [("source_lines", {"log": "job/leak.mprof", "file": file}) for file in ("/etc/passwd", "../../etc/passwd", "")]
        calls += [("holders", {"log": "job/leak.mprof", "leak": leak}) for leak in (-1, 10**9)]
        calls += [("source_lines", {**TOOLS["source_lines"], "leak": leak}) for leak in (-1, 10**9)]
        calls += [("peak", {"log": "job/leak.mprof", "at": at}) for at in ("--json", "step=1 x", "snapshot=none")]
        calls += [("peak", {"log": "job/leak.mprof", "by": "everything"}), ("peak", {"log": "job/leak.mprof", "device": 99}),
                  ("what_if", {"log": "job/leak.mprof", "text": "x", "factor": -1}),
                  ("what_if", {"log": "job/leak.mprof", "text": "x", "factor": float("nan")}),
                  ("what_if", {"log": "job/leak.mprof", "text": "", "factor": 1}), ("diff", {"before": "job/leak.mprof"}),
                  ("diff", {"before": "job/", "after": "job/leak.mprof"}), ("oom", {"log": "job/oom.mprof", "event": 10**12}),
                  ("diff", {"before": "job/leak.mprof", "from_step": 10**12}), ("leaks", {}), ("no_such_tool", {})]
        for call, result in zip(calls, self.ask(*calls)):
            text = result.content[0].text
            self.assertTrue(failed(result), f"{str(call)[:200]}: {text[:300]}")
            self.assertLess(len(text), 1500, str(call)[:200])
            self.assertNotIn("Traceback", text)
            self.assertNotIn("root:", text)

    def test_huge_limits_are_bounded_and_broken_logs_named(self):
        huge = {"limit": 10**12, "cursor": 0}
        results = self.ask(("list_runs", huge), ("steps", {"log": "job/oom.mprof", **huge}),
                           ("peak", {"log": "job/leak.mprof", "limit": -7, "cursor": -7}),
                           ("leaks", {"log": "job/leak.mprof", "limit": 5, "cursor": 10**12}),
                           ("summary", {"log": "broken/cut.mprof"}), ("summary", {"log": "broken/"}))
        runs, steps, peak, leaks, cut, folder = results
        for result in (runs, steps, peak, leaks, cut):
            self.assertFalse(failed(result), result.content[0].text)
            self.assertLessEqual(len(result.content[0].text), 12_000)
        rows = {row["log"]: row for row in json.loads(runs.content[0].text)["facts"]["rows"]}
        self.assertIn("memprof", rows["broken/none.mprof"]["not_read"])
        self.assertNotIn("outside.mprof", rows)
        self.assertLessEqual(json.loads(steps.content[0].text)["page"]["shown"], 50)
        self.assertEqual(json.loads(peak.content[0].text)["page"]["shown"], 1)
        self.assertEqual(json.loads(leaks.content[0].text)["facts"]["rows"], [])
        self.assertNotEqual(json.loads(cut.content[0].text)["confidence"]["level"], "high")
        self.assertFalse(failed(folder), "one of two can be read")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
