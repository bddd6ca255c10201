# half: second
# kind: autograd
# names: terms objective
# bytes: 16777216
"""A multi-task objective remembers each unweighted term for balancing, as tuples in a dict of lists; only the weighted
sum is sent backward, and the graph is retained for the next task. To change: detach the terms."""
import collections

import torch


class Objective:
    def __init__(self, tasks):
        self.tasks = tasks
        self.terms = collections.defaultdict(list)

    def __call__(self, features, step):
        parts = []
        for task in self.tasks:
            part = features.pow(2).mean()
            self.terms[task].append((step, part))
            parts.append(part)
        return sum(parts)


body = torch.nn.Linear(64, 1024).to("cuda")
optimizer = torch.optim.SGD(body.parameters(), lr=0.0)
objective = Objective(["depth"])
for step in range(16):
    optimizer.zero_grad()
    objective(body(torch.randn(256, 64, device="cuda")), step).backward(retain_graph=True)
    optimizer.step()
