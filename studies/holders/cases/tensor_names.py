# half: fifth
# kind: python
# names: tensor_names reporter
# or: tensor_names MemoryReporter
# bytes: 16777216
"""A reporter of memory gives each tensor a name, to print a table; the tensors are the keys of its dict, so the tool
that looks for a leak is one (pytorch_memlab#17). To change: weak references to the tensors, or clear the dict after
each report."""
import torch


class MemoryReporter:
    def __init__(self, model):
        self.tensor_names = {parameter: name for name, parameter in model.named_parameters()}

    def report(self, **tensors):
        for name, tensor in tensors.items():
            self.tensor_names.setdefault(tensor, name)
        return {name: tensor.numel() * tensor.element_size() for name, tensor in tensors.items()}


def train(steps):
    model = torch.nn.Linear(64, 1024).to("cuda")
    reporter = MemoryReporter(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    sizes = []
    for step in range(steps):
        output = model(torch.randn(256, 64, device="cuda"))
        optimizer.zero_grad()
        output.square().mean().backward()
        optimizer.step()
        sizes.append(reporter.report(output=output.detach()))
    return sizes


train(16)
