# half: third
# kind: python
# names: outputs FlopCounter
# or: outputs count_flops
# bytes: 16777216
"""A counter of operations hooks all modules at once and keeps their outputs until someone asks for the sum; its handle
was dropped, so it counts through the whole training (questions on profilers of flops that are left on). To change: keep
shapes, and remove the hook after one step."""
import torch


class FlopCounter:
    def __init__(self):
        self.outputs = {}

    def hook(self, module, arguments, output):
        if isinstance(module, torch.nn.Linear):
            self.outputs.setdefault(module.out_features, []).append(output.detach())

    def total(self):
        return sum(output.numel() for outputs in self.outputs.values() for output in outputs)


def count_flops():
    counter = FlopCounter()
    torch.nn.modules.module.register_module_forward_hook(counter.hook)
    return counter.total


def main():
    count_flops()
    model = torch.nn.Sequential(torch.nn.Linear(64, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512)).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(16):
        optimizer.zero_grad()
        model(torch.randn(256, 64, device="cuda")).square().mean().backward()
        optimizer.step()


main()
