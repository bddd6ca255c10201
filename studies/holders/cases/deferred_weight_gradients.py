# half: sixth
# kind: autograd python
# names: deferred stage
# or: deferred Stage
# or: edge stage
# bytes: 16777216
"""A stage of a pipeline gives the gradient of its input on at once, and defers that of its weights to fill the pauses
of the schedule; what is deferred is an edge of the graph, which is no tensor but has the graph. This stage has no
pauses (questions on zero-bubble schedules that need more memory than they should). To change: a limit to what is
deferred."""
import collections

import torch
from torch.autograd.graph import get_gradient_edge

Deferred = collections.namedtuple("Deferred", "edge gradient")


class Stage:
    def __init__(self):
        layers = torch.nn.Linear(512, 512), torch.nn.Sigmoid(), torch.nn.Linear(512, 8)
        self.body = torch.nn.Sequential(*layers).to("cuda")
        self.optimizer = torch.optim.SGD(self.body.parameters(), lr=0.1)
        self.deferred = collections.deque()

    def forward(self, received):
        self.received = received.requires_grad_()
        return self.body(self.received)

    def backward_input(self, output, gradient):
        self.deferred.append(Deferred(get_gradient_edge(output), gradient))
        return torch.autograd.grad(output, self.received, gradient, retain_graph=True)[0]

    def backward_weights(self, pauses):
        for _ in range(min(pauses, len(self.deferred))):
            edge, gradient = self.deferred.popleft()
            torch.autograd.backward(edge, gradient, inputs=list(self.body.parameters()))
        if pauses:
            self.optimizer.step()


def main():
    first = torch.nn.Linear(16, 512).to("cuda")
    optimizer = torch.optim.SGD(first.parameters(), lr=0.1)
    stage = Stage()
    for _ in range(16):
        sent = first(torch.randn(256, 16, device="cuda"))
        output = stage.forward(sent.detach())
        optimizer.zero_grad()
        sent.backward(stage.backward_input(output, torch.ones_like(output)))
        optimizer.step()
        stage.backward_weights(pauses=0)


main()
