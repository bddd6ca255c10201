# half: third
# kind: python
# names: grid
# bytes: 16777216
"""A search over two hyperparameters keeps its results in a numpy array of objects, one cell a trial, and a result has
the logits with the score. numpy does not tell the collector of Python what is in such an array. To change: keep the
score alone, in an array of floats."""
import itertools

import numpy
import torch

RATES = [0.1, 0.03, 0.01, 0.003]
DECAYS = [0.0, 0.1, 0.2, 0.3]


def trial(rate, decay):
    model = torch.nn.Linear(64, 1024).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, weight_decay=decay)
    logits = model(torch.randn(256, 64, device="cuda"))
    logits.square().mean().backward()
    optimizer.step()
    return rate * decay, logits.detach()


grid = numpy.empty((len(RATES), len(DECAYS)), dtype=object)
for row, column in itertools.product(range(len(RATES)), range(len(DECAYS))):
    grid[row, column] = trial(RATES[row], DECAYS[column])
