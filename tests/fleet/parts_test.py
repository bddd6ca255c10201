"""Parts of a fleet that need nothing but Python: names of files, heads of questions, rows, text, the page.

usage: parts_test.py SOURCE_DIR
"""
import io
import json
import os
import pathlib
import re
import sys
import tempfile
import unittest
import urllib.parse
from contextlib import redirect_stderr, redirect_stdout

SOURCE = pathlib.Path(sys.argv[1])
sys.path[:0] = [str(SOURCE / "python"), str(SOURCE / "tests/fleet")]

import made_rows  # noqa: E402
from memprof._fleet import __main__ as command, catalog, names, rows, schema, spark, storage, text, upload, views  # noqa: E402
from memprof._fleet.errors import FleetError  # noqa: E402


class Names(unittest.TestCase):
    def test_the_day_is_that_of_utc(self):
        self.assertEqual(names.date(1_764_115_199 * 10**9), "2025-11-25")
        self.assertEqual(names.date(1_764_115_200 * 10**9), "2025-11-26")
        for absurd in (None, 2**63 - 1, -2**63, "x"):
            self.assertRegex(names.date(absurd), r"^\d{4}-\d\d-\d\d$")

    def test_a_job_is_one_folder_whatever_it_is_called(self):
        for job in ("4711", "a/b", "..", "x=y", "50%", "ä *?[1]{2}", "\ud800", "~", "a b"):
            self.assertRegex(names.encoded(job), r"^[A-Za-z0-9_.%-]+$", job)
        self.assertEqual(urllib.parse.unquote(names.encoded("a/b=c ü")), "a/b=c ü")
        self.assertEqual(names.folder("/f", "runs", "2025-11-26", ".."), "/f/runs/date=2025-11-26/job=..")
        self.assertEqual(names.encoded(None), "none")

    def test_long_jobs_stay_different(self):
        one, other = names.encoded("ü" * 400 + "a"), names.encoded("ü" * 400 + "b")
        self.assertNotEqual(one, other)
        self.assertLess(len(one), 130)
        self.assertNotRegex(one, r"%.?-[0-9a-f]{16}$")

    def test_another_state_of_a_log_has_another_name(self):
        states = [("/a", 1, "x"), ("/a", 2, "x"), ("/a", 1, "y"), ("/b", 1, "x")]
        self.assertEqual(len({names.mapped("/f", *state) for state in states}), 4)


class Catalog(unittest.TestCase):
    def test_every_question_has_a_head(self):
        self.assertGreaterEqual(len(catalog.names()), 15)
        for name in catalog.names():
            question = catalog.load(name)
            self.assertEqual({column.unit for column in question.columns} - catalog.UNITS, set(), name)
            self.assertIn("log", {column.unit for column in question.columns}, f"{name} names no log to open")
            self.assertRegex(question.next, r"^memprof [a-z]+$")
            self.assertRegex(question.answers, r"[.?]$", name)
            for parameter in question.parameters:
                self.assertIn(":" + parameter.name, question.sql, name)
            self.assertEqual(set(re.findall(r":(\w+)", re.sub(r"'[^']*'", "", question.sql))), {p.name for p in question.parameters}, name)

    def test_questions_read_only_views(self):
        known = set(schema.TABLES) | {"failed_logs"}
        for name in catalog.names():
            sql = catalog.load(name).sql
            own = set(re.findall(r"(\w+) AS \(", sql))
            read = set(re.findall(r"\b(?:FROM|JOIN) (\w+)", sql))
            self.assertEqual(read - own - known, set(), name)

    def test_a_head_without_columns_is_an_error(self):
        with self.assertRaisesRegex(FleetError, "x.sql: its head"):
            catalog.parse("x", "-- title: X\nSELECT 1")

    def test_an_unknown_question_names_the_nearest(self):
        with self.assertRaisesRegex(FleetError, "did you mean outliers"):
            catalog.load("outlier")

    def test_parameters_have_the_type_of_their_default(self):
        question = catalog.load("outliers")
        self.assertEqual(catalog.values(question, ["share=0.5", "peers=7"]), {"z": 3.5, "share": 0.5, "peers": 7})
        for wrong in ("share=x", "peers=1.5", "other=1", "share"):
            with self.assertRaisesRegex(FleetError, "^--set"):
                catalog.values(question, [wrong])

    def test_only_parameters_are_marked(self):
        self.assertEqual(catalog.written("a::b :share ':sharex' :z", ["share", "z"], "$"), "a::b $share ':sharex' $z")


class Rows(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        os.environ["MEMPROF_COMMAND"] = str(SOURCE / "tests/fleet/rows_command.py")
        self.run_, self.rows = made_rows.multiplied(made_rows.template(4), "j", 0)

    def of(self, content):
        path = pathlib.Path(self.scratch.name, "a.mprof")
        path.write_text(content)
        return rows.of(str(path), "s3://b/a.mprof")

    def test_printed_rows_are_read(self):
        run, tables = self.of(made_rows.printed(self.run_, self.rows))
        self.assertEqual((run, tables), (self.run_, self.rows))
        self.assertEqual(made_rows.read(made_rows.printed(self.run_, self.rows)), (self.run_, self.rows))

    def test_tables_of_a_newer_memprof_are_left_out(self):
        newer = made_rows.printed(self.run_, {**self.rows, "../x": [{"a": 1}]})
        self.assertEqual(self.of(newer)[1], self.rows)

    def test_each_fault_is_one_line(self):
        whole = made_rows.printed(self.run_, self.rows)
        lines = whole.splitlines(True)
        for content, words in (
                ("foreign", "not a memprof log"), ("crash", "ended by signal 11"), ("{\n", "cannot be parsed"),
                ('{"schema": 2, "run": "' + "0" * 32 + '"}\n', "version 2"), ('{"schema": 1, "run": "../x"}\n', "128 bits"),
                ("".join(lines[:-1]), "ended early"), ("".join(lines[:5] + lines[6:]), "rows came of"),
                ("".join(lines[:1]) + '{"end": true, "rows": 0}\n', "0 rows of runs"), (lines[0] + "[1]\n", "cannot be parsed"),
                (lines[0] + '{"table": "runs", "row": 5}\n', "cannot be parsed"), (lines[0] + "[" * 100000 + "\n", "cannot be"),
                # The command has more to print when we stop reading.
                (lines[0] + "x\n" + lines[1] * 20000, "cannot be parsed")):
            with self.assertRaisesRegex(rows.Unreadable, words, msg=content[:80]) as caught:
                self.of(content)
            self.assertNotIn("\n", str(caught.exception))


class Text(unittest.TestCase):
    def test_units_are_those_of_the_other_verbs(self):
        for value, unit, shown in ((0, "bytes", "0 B"), (1023, "bytes", "1023 B"), (1536, "bytes", "1.50 KiB"),
                                   (40 << 30, "bytes", "40.0 GiB"), (-(5 << 20), "bytes", "-5.00 MiB"), (0.5, "share", "50 %"),
                                   (0.051, "share", "5.1 %"), (0.0001, "share", "<0.1 %"), (None, "bytes", "-"),
                                   (1234567, "count", "1,234,567"), (90 * 10**9, "ns", "90.0 s"), (999_700_000, "ns", "1.00 s"),
                                   (999_400_000, "ns", "999 ms"), (7200e9, "ns", "2 h 00 min"),
                                   (204800, "bytes/step", "200 KiB/step"), (12.345, "hours", "12.3 h"), (7, "step", "7")):
            self.assertEqual(text.cell(value, unit), shown)

    def test_hostile_text_cannot_control_the_terminal(self):
        self.assertEqual(text.cell("a\x1b[31m\nb\u202e", "text"), "a?[31m?b?")

    def test_numbers_are_to_the_right(self):
        columns = [catalog.Column("job", "text"), catalog.Column("of_all", "count"), catalog.Column("log", "log")]
        self.assertEqual(text.table(columns, [("a", 5, "/x" * 60 + ".mprof"), ("bcd", 1000, None)]), [
            "  job  of all  log", "  a         5  …" + ("/x" * 60 + ".mprof")[-84:], "  bcd   1,000  -"])


class Upload(unittest.TestCase):
    def test_names_begin_where_they_vary(self):
        self.assertEqual(upload.targets(["/a/b/c/1.mprof", "/a/b/2.mprof", "/d/3.mprof"], "/a/b", "s3://store/logs/"),
                         [("/a/b/c/1.mprof", "s3://store/logs/c/1.mprof"), ("/a/b/2.mprof", "s3://store/logs/2.mprof"),
                          ("/d/3.mprof", "s3://store/logs/3.mprof")])

    def test_what_cannot_be_copied_is_told_and_the_others_are(self):
        with tempfile.TemporaryDirectory() as folder, redirect_stderr(io.StringIO()) as said:
            for name in "ab":
                pathlib.Path(folder, name).write_text(name)
            logs = [f"{folder}/{name}" for name in ("a", "none", "b")]
            self.assertEqual(upload.main(["--below", folder, "--to", f"{folder}/to", "--", *logs]), 1)
            self.assertEqual(sorted(os.listdir(f"{folder}/to")), ["a", "b"])
        self.assertRegex(said.getvalue(), "^memprof: .*/to/none: .*\n$")


class Storage(unittest.TestCase):
    def test_files_appear_whole_and_leave_no_parts(self):
        with tempfile.TemporaryDirectory() as folder:
            place = storage.Local()
            place.write(f"{folder}/a/b.parquet", b"1")
            with self.assertRaises(TypeError):
                place.write(f"{folder}/a/b.parquet", "no bytes")
            self.assertEqual(place.names(f"{folder}/a"), ["b.parquet"])
            self.assertEqual(place.read(f"{folder}/a/b.parquet"), b"1")
            self.assertEqual(place.names(f"{folder}/none"), [])

    def test_logs_are_found_once(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "a.mprof").write_text("x")
            pathlib.Path(folder, "b.txt").write_text("x")
            found = storage.logs([folder, f"{folder}/a.mprof", f"file://{folder}/./a.mprof"])
            self.assertEqual([log[:2] for log in found], [(f"{folder}/a.mprof", 1)])
            with self.assertRaisesRegex(FleetError, "no such file"):
                storage.logs([f"{folder}/c"])


class Command(unittest.TestCase):
    def said(self, *arguments):
        out, errors = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(errors):
            try:
                status = command.main(list(arguments))
            except SystemExit as end:
                status = end.code
        return status, out.getvalue(), errors.getvalue()

    def test_help_has_examples(self):
        for verb in ("map", "compact", "ask", "report"):
            status, out, _ = self.said(verb, "--help")
            self.assertEqual(status, 0)
            self.assertIn("examples:\n  memprof fleet " + verb, out)
        self.assertTrue(all(f"\n  {name} " in self.said("ask", "--help")[1] for name in catalog.names()))

    def test_usage_has_status_2(self):
        for arguments in ((), ("map",), ("compact",), ("ask", "outliers"), ("report", "--engine=x", "f"), ("map", "a", "-o", "b", "--jobs=0"),
                          ("report", "f", "--since=last week")):
            self.assertEqual(self.said(*arguments)[0], 2, arguments)

    def test_options_may_stand_anywhere(self):
        options = command.parsed(["ask", "--json", "leaks", "a", "--job=1", "b", "--top", "3", "c"])
        self.assertEqual((options.question, options.fleets, options.job, options.top), ("leaks", ["a", "b", "c"], ["1"], 3))
        options = command.parsed(["map", "x", "-o", "f", "y", "--engine=spark"])
        self.assertEqual((options.logs, options.output, options.engine), (["x", "y"], "f", "spark"))

    def test_the_list_has_every_question(self):
        status, out, _ = self.said("ask", "--list")
        self.assertEqual((status, [line.split()[0] for line in out.splitlines() if line[0] != " "]), (0, catalog.names()))
        self.assertEqual([one["question"] for one in json.loads(self.said("ask", "--list", "--json")[1])], catalog.names())

    def test_errors_are_one_line_with_status_1(self):
        for arguments, words in ((("ask", "nothing", "f"), "no question is named"),
                                 (("ask", "leaks", "f", "--set", "a=1"), "--set a=1")):
            status, out, errors = self.said(*arguments)
            self.assertEqual((status, out, errors.count("\n")), (1, "", 1))
            self.assertIn(words, errors)


class Spark(unittest.TestCase):
    def test_settings_are_for_a_short_session_unless_told(self):
        java = "spark.driver.extraJavaOptions"
        self.assertIn("Serial", spark.settings("local[2]", [])[java])
        self.assertNotIn(java, spark.settings("local-cluster[2,1,1024]", []))
        found = spark.settings("local[*]", [f"{java}=-Xmx1g -Da=b", "spark.sql.shuffle.partitions=80"])
        self.assertEqual((found[java], found["spark.sql.shuffle.partitions"]), ("-Xmx1g -Da=b", "80"))
        with self.assertRaisesRegex(FleetError, "NAME=VALUE"):
            spark.settings("yarn", ["spark.x"])

    def test_an_error_is_the_line_that_says_most(self):
        java = "An error occurred while calling o1.collect.\n: org.apache.spark.SparkException: No memory\n\tat java.base/x"
        for text, line in ((java, "Spark: SparkException: No memory"), ("at x\nfleet.FleetError: s3: no\nat y", "s3: no"),
                           ("plain\nmore", "Spark: plain")):
            self.assertEqual(str(spark.failure(Exception(text))), line)


def page_of_tables():
    lines = []
    for table, columns in schema.TABLES.items():
        lines += [f"### `{table}`", "", "| column | type | what |", "|---|---|---|"]
        lines += [f"| `{name}` | {kind} | {words} |" for name, kind, words in schema.RUN + columns]
        if table == "runs":
            lines += ["", "The view `runs`, which questions read, has these too:", "", "| column | type | what |", "|---|---|---|"]
            lines += [f"| `{name}` | {kind} | {words} |" for name, kind, words in views.DERIVED]
        lines.append("")
    return "\n".join(lines)


def page_of_questions():
    lines = ["| question | what it answers | parameters |", "|---|---|---|"]
    for name in catalog.names():
        question = catalog.load(name)
        parameters = "; ".join(f"`{p.name}={p.default}`: {p.words}" for p in question.parameters)
        lines.append(f"| `{name}` | {question.answers} | {parameters} |")
    return "\n".join(lines) + "\n"


class Page(unittest.TestCase):
    def test_the_page_has_every_column_and_question(self):
        """MEMPROF_UPDATE_GOLDEN=1 writes these parts of the page."""
        path = SOURCE / "docs/fleet.md"
        page = path.read_text(encoding="utf-8")
        for name, wanted in (("tables", page_of_tables()), ("questions", page_of_questions())):
            before, rest = page.split(f"<!-- {name}: from the code -->\n")
            part, after = rest.split(f"<!-- end of {name} -->\n")
            if os.environ.get("MEMPROF_UPDATE_GOLDEN"):
                page = f"{before}<!-- {name}: from the code -->\n{wanted}<!-- end of {name} -->\n{after}"
                path.write_text(page, encoding="utf-8")
            else:
                self.assertEqual(part, wanted)

    def test_the_build_installs_every_file(self):
        listed = (SOURCE / "python/CMakeLists.txt").read_text(encoding="utf-8")
        folder = SOURCE / "python/memprof/_fleet"
        for path in [*folder.glob("*.py"), *folder.glob("questions/*.sql")]:
            self.assertRegex(listed, rf"\b{re.escape(path.stem)}\b", path.name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
