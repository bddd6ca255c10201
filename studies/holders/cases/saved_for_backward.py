# half: second
# kind: autograd
# names: norm tracker
# or: norm Tracker
# bytes: 16777216
"""A custom Function saves its input for backward, properly; but a tracker sums a statistic of its output, so the nodes
stay and backward() never runs through them. To change: detach in the tracker."""
import torch


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, values):
        ctx.save_for_backward(values)
        return values.sum(dim=1)

    @staticmethod
    def backward(ctx, gradient):
        values, = ctx.saved_tensors
        return gradient[:, None] * values


class Tracker:
    __slots__ = ("norm", "count")

    def __init__(self):
        self.norm, self.count = None, 0

    def add(self, value):
        self.norm = value if self.norm is None else self.norm + value
        self.count += 1


tracker = Tracker()
model = torch.nn.Linear(64, 1024).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(16):
    optimizer.zero_grad()
    model(torch.randn(4, 64, device="cuda")).square().mean().backward()
    optimizer.step()
    tracker.add(Cube.apply(model(torch.randn(256, 64, device="cuda"))).mean())
