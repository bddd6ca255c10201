"""The table, on made-up rows, and that the models and changes are known."""
import json
import pathlib
import sys
import tempfile
import unittest

import study

sys.path.insert(0, str(study.HERE.parent / "footprint"))
from train import TRANSFORMERS  # noqa: E402

MIB = 1 << 20


def row(predicted, truth=1000):
    figures = {"allocated": 500 * MIB, "reserved": truth * MIB}
    return {"model": "timm/x", "change": "fused-step", "before": {"allocated": 800 * MIB, "reserved": 2000 * MIB},
            "predicted": {**figures, "reserved": predicted * MIB}, "truth": figures}


class TableTest(unittest.TestCase):
    def test_errors(self):
        lines = study.table([row(1010), row(940), row(1001)])
        self.assertEqual(lines[2], "| timm/x | fused-step | 800 | 500 | 500 | +0.0 % | 2,000 | 1,010 | 1,000 | +1.0 % |")
        self.assertEqual(lines[5], "allocated: 3 predictions, median 0.0 %, worst 0.0 %, 3 within 5 %")
        self.assertEqual(lines[6], "reserved: 3 predictions, median 1.0 %, worst 6.0 %, 2 within 5 %")

    def test_what_is_kept_is_not_made_again(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "x.json"
            self.assertEqual(study.kept(path, lambda: {"": 1}), {"": 1})
            self.assertEqual(study.kept(path, lambda: self.fail("made again")), {"": 1})
            self.assertEqual(json.loads(path.read_text()), {"": 1})

    def test_transformers_are_known(self):
        for model in {*study.MODELS, *study.CHUNKED}:
            self.assertIn(model, study.MODELS)
            library, name = model.split("/")
            if library == "transformers":
                self.assertIn(name, TRANSFORMERS)


if __name__ == "__main__":
    unittest.main()
