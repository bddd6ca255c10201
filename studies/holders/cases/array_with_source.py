# half: sixth
# kind: python
# names: source history
# or: source Curve
# or: source curve
# bytes: 16777216
"""An array of numpy is given one more attribute, which is handed on to each slice of it, as the manual of numpy shows;
here it is the tensor that a curve was computed from, and the history has a slice of one number for each step (questions
on subclasses of ndarray). To change: float(curve[-1]), or do not hand `source` on."""
import numpy
import torch


class Curve(numpy.ndarray):
    def __new__(cls, values, source):
        curve = numpy.asarray(values).view(cls)
        curve.source = source
        return curve

    def __array_finalize__(self, other):
        self.source = getattr(other, "source", None)


def profile_of(features):
    return Curve(features.mean(dim=0)[:32].cpu().numpy(), features)


def train(steps):
    model = torch.nn.Linear(64, 1024).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    history = []
    for _ in range(steps):
        output = model(torch.randn(256, 64, device="cuda"))
        optimizer.zero_grad()
        output.square().mean().backward()
        optimizer.step()
        history.append(profile_of(output.detach())[-1:])
    return numpy.concatenate(history)


train(16)
