# half: sixth
# kind: python
# names: features result
# or: features FeatureCheck
# or: failures result
# bytes: 16777216
"""A training checks itself with the means of unittest after each step; a result keeps every test that failed, next to
the text of the error, and the test has its features as an attribute (questions on tests that keep GPU memory until the
last one). To change: a local variable instead of self.features, or del in tearDown()."""
import unittest

import torch


class FeatureCheck(unittest.TestCase):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def setUp(self):
        with torch.no_grad():
            self.features = self.model(torch.randn(256, 64, device="cuda"))

    def runTest(self):
        self.assertEqual(self.features.shape[1], 512)


def main():
    model = torch.nn.Linear(64, 1024).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    result = unittest.TestResult()
    for _ in range(16):
        optimizer.zero_grad()
        model(torch.randn(32, 64, device="cuda")).square().mean().backward()
        optimizer.step()
        FeatureCheck(model).run(result)
    return len(result.failures)


main()
