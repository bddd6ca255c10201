# half: fourth
# kind: python
# names: anchors
# or: modules load_config
# bytes: 16777216
"""Configurations are Python files that are run as modules under a name of their own, and go into sys.modules so that
others can import them; one has anchors that it computes on the GPU, and a sweep loads it again for each point (reports
on configurations in Python in detection libraries). To change: del sys.modules[name] after a run, or make anchors in a
function."""
import sys
import types

import torch

TEMPLATE = """import torch
stride = {stride}
anchors = torch.rand(65536, 4, device="cuda") * stride
"""


def load_config(name, stride):
    module = types.ModuleType(name)
    exec(compile(TEMPLATE.format(stride=stride), f"{name}.py", "exec"), module.__dict__)
    sys.modules[name] = module
    return module


def train(config):
    model = torch.nn.Linear(4, 16).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(config.anchors[:64]).square().mean().backward()
    optimizer.step()


for point in range(16):
    train(load_config(f"sweep_{point}", stride=8 + point))
