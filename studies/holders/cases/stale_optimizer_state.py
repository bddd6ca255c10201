# half: second
# kind: python
# names: state optimizer
# bytes: 25165824
"""Points of a scene are replaced by a denser set at each step: the new parameter goes into param_groups, but the state
is by parameter, and keeps the old one as its key with two moments (gsplat#931). To change: optimizer.state.pop(old)."""
import torch


class Scene:
    def __init__(self):
        self.points = torch.nn.Parameter(torch.randn(96, 1024, device="cuda"))
        self.optimizer = torch.optim.Adam([self.points], lr=0.01)

    def densify(self):
        self.points = torch.nn.Parameter(torch.randn(96, 1024, device="cuda"))
        self.optimizer.param_groups[0]["params"] = [self.points]

    def step(self):
        self.optimizer.zero_grad()
        self.points.square().mean().backward()
        self.optimizer.step()


scene = Scene()
for step in range(16):
    scene.step()
    scene.densify()
    known = len(scene.optimizer.state)
