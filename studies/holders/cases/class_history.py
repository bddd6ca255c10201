# half: first
# kind: python
# names: history Monitor
# bytes: 16777216
"""A list written in the class body is one list for all monitors: each run adds to it, and none owns it. A mistake of
beginners that forums explain often. To change: make the list in __init__, and append numbers."""
import torch


class Monitor:
    history = []
    shown = 0

    def watch(self, name, tensor):
        self.history.append((name, tensor))
        self.shown += 1


def run(model, optimizer, steps):
    monitor = Monitor()
    for _ in range(steps):
        hidden = model(torch.randn(256, 64, device="cuda"))
        optimizer.zero_grad()
        hidden.square().mean().backward()
        optimizer.step()
        monitor.watch("hidden", hidden.detach())


network = torch.nn.Linear(64, 1024).to("cuda")
descent = torch.optim.SGD(network.parameters(), lr=0.1)
for repetition in range(4):
    run(network, descent, 4)
