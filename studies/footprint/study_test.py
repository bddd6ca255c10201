"""The table, on made-up rows, and what the sets of models have in common."""
import unittest

import study
from train import TRANSFORMERS

MIB = 1 << 20


def row(predicted, truth=1000, spread=None):
    """Reserved MiB."""
    return {"model": "timm/x", "small": (2, 4), "target": 64, "truth": {"reserved": truth * MIB, "requested": 500 * MIB},
            "predicted": {"reserved": predicted * MIB, "requested": 500 * MIB},
            "range": None if spread is None else spread * MIB}


class TableTest(unittest.TestCase):
    def test_errors(self):
        lines = study.table([row(1010), row(980), row(1001)])
        self.assertEqual(lines[1].split(), ["timm/x", "2,4", "->", "64", "1000", "MiB", "1010", "MiB", "+1.00%", "-", "+0.00%"])
        self.assertEqual(lines[4], "reserved: median 1.00 %, worst 2.00 %")
        self.assertEqual(lines[5], "requested: median 0.00 %, worst 0.00 %")
        self.assertEqual(len(lines), 6)

    def test_ranges(self):
        lines = study.table([row(1010, spread=10), row(1011, spread=10), row(990, spread=10)])
        self.assertEqual(["out" in line for line in lines[1:4]], [False, True, False])
        self.assertEqual(lines[-1], "within the range: 2 of 3")

    def test_pairs(self):
        self.assertEqual(study.pairs_of(64, False), [((2, 4), 64)])
        self.assertEqual(study.pairs_of(16, True), [((2, 4), 8), ((2, 4), 16), ((4, 8), 16)])
        self.assertEqual(len(study.pairs_of(64, True)), 10)

    def test_the_sets_share_no_model(self):
        self.assertFalse(set(study.MODELS["chosen"]) & set(study.MODELS["held-out"]))

    def test_transformers_are_known(self):
        for models in study.MODELS.values():
            for model in models:
                library, name = model.split("/")
                if library == "transformers":
                    self.assertIn(name, TRANSFORMERS)


if __name__ == "__main__":
    unittest.main()
