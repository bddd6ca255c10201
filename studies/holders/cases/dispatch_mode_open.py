# half: third
# kind: python
# names: results OperationLog
# bytes: 16777216
"""A mode that sees every operation was entered by hand for a look at one layer, keeps the results, and is never left;
PyTorch's stack of modes is all that has it (questions on modes that log operations). To change: `with`, around one
step."""
import torch
from torch.utils._python_dispatch import TorchDispatchMode


class OperationLog(TorchDispatchMode):
    def __init__(self, wanted):
        super().__init__()
        self.wanted = wanted
        self.results = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        if function is self.wanted:
            self.results.append(result)
        return result


def train(model, optimizer):
    OperationLog(torch.ops.aten.addmm.default).__enter__()
    for _ in range(16):
        optimizer.zero_grad()
        model(torch.randn(256, 64, device="cuda")).square().mean().backward()
        optimizer.step()


model = torch.nn.Linear(64, 1024).to("cuda")
train(model, torch.optim.SGD(model.parameters(), lr=0.1))
