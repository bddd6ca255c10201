# half: third
# kind: python
# names: frontier
# bytes: 16777216
"""Best-first search puts three new hypotheses into a priority queue for each that it takes out, with their states on
the GPU, and has no limit to the width of its beam, so what was passed over waits for ever (questions on beam search
that runs out of memory). To change: bound the frontier, or compute a state when its turn comes."""
import dataclasses
import queue

import torch


@dataclasses.dataclass(order=True)
class Hypothesis:
    cost: float
    number: int
    state: torch.Tensor = dataclasses.field(compare=False)


class Search:
    def __init__(self, model):
        self.model = model
        self.frontier = queue.PriorityQueue()
        self.made = 0
        self.add(0.0, torch.randn(128, 1024, device="cuda"))

    def add(self, cost, state):
        self.made += 1
        self.frontier.put(Hypothesis(cost, self.made, state))

    def expand(self):
        best = self.frontier.get()
        for branch in range(3):
            with torch.no_grad():
                self.add(best.cost + 10 * branch - 1, self.model(best.state))
        return best.state


model = torch.nn.Sequential(torch.nn.Linear(1024, 16), torch.nn.Linear(16, 1024)).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
search = Search(model)
for step in range(16):
    state = search.expand()
    optimizer.zero_grad()
    (model(state) - state).square().mean().backward()
    optimizer.step()
