"""The rows of the study, their source's format, and the table, on made-up results."""
import json
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

import bert
import rows as rows_of
import study
from rows import Row
from train import BACKWARD, CONVOLUTIONAL, NEVER, START, TRANSFORMERS

NOTHING = {tool: None for tool in rows_of.TOOLS}
GIB = 1 << 30
CODE = 10 << 20


def row(name="x", truth=10 * GIB, oom=False, model="VGG16", estimates=None, verdicts=None):
    return Row(name, "train", model, "SGD", 8, "86x86", "3060", truth, oom, 2, {**NOTHING, **(estimates or {})},
               {**NOTHING, **(verdicts or {})})


def result(total, first=0, oom=False):
    return {"reserved": total, "first_reserved": first, "oom": oom, "first_beside": GIB, "beside": GIB + CODE}


PUBLISHED = {
    "train info": {"model": "hub/gpt2", "optimiser": "AdamW", "batch_size": 35, "input_size": None, "zero_grad_mode": 1,
                   "gpu_name": "NVIDIA GeForce RTX 3060"},
    "solution": {"ground": 100, "memory": 90, "oom": False, "real_oom": True},
    "SchedTune": {"ground": 100, "memory": 80.5, "oom": True, "real_oom": True}}


class RowsTest(unittest.TestCase):
    def test_the_rows_are_complete(self):
        rows = rows_of.read_rows()
        self.assertEqual(len({one.id for one in rows}), len(rows))
        self.assertEqual(len({rows_of.training(one) for one in rows}), len(rows))
        known = {*CONVOLUTIONAL, *TRANSFORMERS}
        for one in rows:
            self.assertIn(one.set, rows_of.SETS)
            self.assertIn(one.zero_grad, (START, BACKWARD, NEVER))
            self.assertIn(one.gpu, study.SIMULATED)
            self.assertGreater(one.truth, 100 << 20)
            self.assertIn(one.model, known)

    def test_written_as_read(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "rows.csv"
            written = [row("a", estimates={"xmem": 7}, verdicts={"xmem": True, "llmem": False}), row("b", oom=True)]
            rows_of.write_rows(written, path)
            self.assertEqual(rows_of.read_rows(path), written)

    def test_the_authors_format(self):
        made = rows_of.row_of(json.dumps(PUBLISHED), "M/1", "second")
        self.assertEqual(made, Row("M/1", "second", "gpt2", "AdamW", 35, "128", "3060", 100, True, 1,
                                   {**NOTHING, "xmem": 90, "schedtune": 80},
                                   {**NOTHING, "xmem": False, "schedtune": True}))

    def test_without_a_truth(self):
        self.assertIsNone(rows_of.row_of(json.dumps({"train info": PUBLISHED["train info"]}), "M/1", "second"))

    def test_names(self):
        path = "x/plot/data/002-Monte Carlo/CNN/001/VGG16_SGD_657_0_b7d3/NVIDIA-GeForce-RTX-4060/evaluation_result.json"
        self.assertEqual(rows_of.name_of(path), "M/001/b7d3")
        path = "x/plot/data_new/002-Monte Carlo/Transformer/facebook-opt-125m_AdamW_18_1_8-86aa/NVIDIA-GeForce-RTX-3060/y"
        self.assertEqual(rows_of.name_of(path), "M/new/86aa")

    def test_a_sample_leaves_out_the_trainings_that_are_known(self):
        with tempfile.TemporaryDirectory() as folder:
            for batch, run in ((8, "1"), (8, "2"), (9, "3"), (10, "4")):
                path = pathlib.Path(folder) / "plot/data/001-Anova/CNN/001" / f"VGG16_SGD_{batch}_1_{run}/GPU"
                path.mkdir(parents=True)
                info = {**PUBLISHED["train info"], "batch_size": batch}
                (path / "evaluation_result.json").write_text(json.dumps({**PUBLISHED, "train info": info}))
            into = pathlib.Path(folder) / "rows.csv"
            rows_of.write_rows([row("x")._replace(model="gpt2", optimizer="AdamW", batch=9, zero_grad=1)], into)
            with mock.patch.object(sys, "argv", ["rows.py", "--checkout", folder, "--into", str(into)]):
                rows_of.main()
            self.assertEqual(sorted(one.batch for one in rows_of.read_rows(into)), [8, 9, 10])


class TableTest(unittest.TestCase):
    def lines(self, rows, results):
        return [line.split() for line in study.table(rows, results)]

    def test_the_first_sample_is_taken_off(self):
        self.assertEqual(study.predicted(result(3 * GIB, GIB)), 2 * GIB + CODE)

    def test_errors(self):
        rows = [row(str(percent), truth=10 * GIB, estimates={"xmem": 9 * GIB}, verdicts={"xmem": False})
                for percent in range(1, 12)]
        results = {one.id: result(10 * GIB + int(one.id) * GIB // 10 - CODE) for one in rows}
        lines = self.lines(rows, results)
        self.assertEqual(lines[1][:5], ["all", "stand-in", "11", "6.0%", "10.0%"])
        self.assertEqual(lines[1][5:], ["11", "of", "11"])
        self.assertEqual(lines[2][:4], ["xmem", "11", "10.0%", "10.0%"])

    def test_who_ran_out_of_memory_has_a_verdict_and_no_error(self):
        rows = [row("a", oom=True), row("b"), row("c", oom=True)]
        results = {"a": result(GIB, oom=True), "b": result(GIB, oom=True), "c": result(GIB)}
        self.assertEqual(self.lines(rows, results)[1], ["all", "stand-in", "0", "-", "-", "1", "of", "3"])

    def test_failed_rows_do_not_count(self):
        self.assertEqual(self.lines([row("a")], {"a": {"failed": "x"}})[1][2], "0")

    def test_families(self):
        rows = [row("a"), row("b", model="gpt2")]
        lines = self.lines(rows, {"a": result(10 * GIB - CODE), "b": result(12 * GIB - CODE)})
        self.assertEqual([line[:4] for line in lines[1:]],
                         [["all", "stand-in", "2", "10.0%"], ["convolutional", "stand-in", "1", "0.0%"],
                          ["transformer", "stand-in", "1", "20.0%"]])


class BertTest(unittest.TestCase):
    def test_context_and_code_are_taken_off(self):
        self.assertEqual(bert.line_of("plain", 13608).split()[1:],
                         ["13608", "MiB", "there", "13608", "MiB", "here", "+0.0", "%"])
        self.assertEqual(bert.line_of("fp16", 12598 * 9 // 10).split()[-2:], ["-10.0", "%"])

    def test_a_step_sees_four_sequences(self):
        self.assertEqual({batch * passes for _, batch, passes, *_ in bert.ROWS.values()}, {4})


if __name__ == "__main__":
    unittest.main()
