# half: sixth
# kind: autograd
# names: residuals points
# or: residuals CollocationPoints
# bytes: 13107200
"""A network that should fulfil an equation is trained at points, and new points are drawn where the residual is large;
a residual has derivatives of the network in it, taken with create_graph=True since the training needs that, and the
means by region are kept as they come (forum questions on physics-informed networks that fill the GPU). To change:
residual.detach() in note, where no gradient is needed."""
import torch


def residual_of(network, place):
    place = place.requires_grad_()
    value = network(place)
    slope, = torch.autograd.grad(value.sum(), place, create_graph=True)
    return slope[:, :1] + value * slope[:, 1:]


class CollocationPoints:
    def __init__(self, regions):
        self.regions = regions
        self.residuals = {}

    def draw(self, number):
        return torch.randn(number, 2, device="cuda")

    def note(self, round_number, residual):
        for region, part in enumerate(residual.chunk(self.regions)):
            self.residuals[round_number, region] = part.abs().mean()


network = torch.nn.Sequential(torch.nn.Linear(2, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1)).to("cuda")
optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
points = CollocationPoints(regions=4)
for step in range(16):
    optimizer.zero_grad()
    residual_of(network, points.draw(64)).square().mean().backward()
    optimizer.step()
    points.note(step, residual_of(network, points.draw(1024)))
