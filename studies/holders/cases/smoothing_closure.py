# half: fifth
# kind: autograd
# names: smoothed smooth
# or: smoothed make_smoother
# bytes: 16777216
"""A curve is smoothed by a function that has the value so far in a variable of the function around it; it smooths the
distance between student and teacher, which is only for show and never goes backward, so all of its graphs hang on one
number (questions on moving averages of losses). To change: detach `value` in smooth."""
import torch


def make_smoother(weight):
    smoothed = None

    def smooth(value):
        nonlocal smoothed
        smoothed = value if smoothed is None else weight * smoothed + (1 - weight) * value
        return smoothed

    return smooth


def network():
    return torch.nn.Sequential(torch.nn.Linear(64, 1024), torch.nn.Sigmoid(), torch.nn.Linear(1024, 8)).to("cuda")


class Distillation:
    def __init__(self):
        self.teacher = network().requires_grad_(False)
        self.student = network()
        self.optimizer = torch.optim.SGD(self.student.parameters(), lr=0.1)
        self.smooth = make_smoother(0.9)
        self.points = 0

    def step(self):
        self.optimizer.zero_grad()
        self.student(torch.randn(32, 64, device="cuda")).square().mean().backward()
        self.optimizer.step()
        batch = torch.randn(256, 64, device="cuda")
        self.smooth((self.student(batch) - self.teacher(batch)).abs().mean())
        self.points += 1


distillation = Distillation()
for step in range(16):
    distillation.step()
