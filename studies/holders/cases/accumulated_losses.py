# half: fifth
# kind: autograd
# names: running
# or: accumulate
# or: total
# bytes: 16777216
"""A generator trains and yields the loss of validation after each step, and itertools.accumulate makes running totals
of them; the total is a tensor with the graphs of all losses so far, and it is inside the iterator (the FAQ of PyTorch
on accumulating losses). To change: yield loss.item(), or no_grad() around the validation."""
import itertools

import torch


def train_and_validate(steps):
    model = torch.nn.Sequential(torch.nn.Linear(64, 1024), torch.nn.Tanh(), torch.nn.Linear(1024, 1)).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(steps):
        optimizer.zero_grad()
        model(torch.randn(32, 64, device="cuda")).square().mean().backward()
        optimizer.step()
        yield model(torch.randn(256, 64, device="cuda")).square().mean()


def main():
    running = itertools.accumulate(train_and_validate(16))
    shapes = []
    for total in running:
        shapes.append(total.shape)


main()
