# half: first
# kind: python
# names: last_value
# or: last_traceback
# bytes: 12582912
"""An interactive console keeps the last error in sys, and so the frames of the cell that failed, in which the
activations are (pytorch#36874, fastai's notes on notebooks). To change: clear sys.last_value."""
import sys

import torch


def run_cell(function):
    try:
        function()
    except Exception as error:
        sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__


def train_cell():
    model = torch.nn.Linear(64, 1024).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    activations = []
    for step in range(12):
        output = model(torch.randn(256, 64, device="cuda"))
        activations.append(output.detach())
        optimizer.zero_grad()
        output.square().mean().backward()
        optimizer.step()
    print(activations[0].shap)


run_cell(train_cell)
