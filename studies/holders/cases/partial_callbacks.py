# half: first
# kind: python
# names: at_epoch_end
# bytes: 16777216
"""Work is put off to the end of the epoch as partials, each with a batch of features as its argument, and no epoch
ends here. To change: bind numbers, or run the callbacks sooner."""
import functools

import torch

at_epoch_end = []


def report(features, step):
    print(step, features.shape)


def main():
    model = torch.nn.Linear(64, 1024).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(16):
        features = model(torch.randn(256, 64, device="cuda"))
        optimizer.zero_grad()
        features.square().mean().backward()
        optimizer.step()
        at_epoch_end.append(functools.partial(report, features.detach(), step=step))


main()
