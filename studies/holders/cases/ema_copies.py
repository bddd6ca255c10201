# half: first
# kind: python
# names: averages
# bytes: 16777216
"""An average of the weights is kept for each step to choose from later, where one would do (questions on EMA that
doubles memory). To change: one average, updated in place; copies on the CPU."""
import copy

import torch


class Ema:
    def __init__(self, model):
        self.averages = [copy.deepcopy(model)]

    @torch.no_grad()
    def update(self, model):
        average = copy.deepcopy(self.averages[-1])
        for mine, theirs in zip(average.parameters(), model.parameters()):
            mine.lerp_(theirs, 0.1)
        self.averages.append(average)


def main():
    model = torch.nn.Linear(1024, 256).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    ema = Ema(model)
    for _ in range(16):
        loss = model(torch.randn(8, 1024, device="cuda")).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema.update(model)


main()
