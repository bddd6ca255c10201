# half: fifth
# kind: python
# names: fourier_bases layer
# or: fourier_bases LoraLinear
# bytes: 16777216
"""A layer has adapters by name; most of an adapter is in modules, but its fixed basis is in a plain dict beside them,
and delete_adapter() goes only through the modules (peft#3376 finds such containers). To change: pop the name from
fourier_bases as well."""
import torch


class LoraLinear(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.base = torch.nn.Linear(inputs, outputs)
        self.down = torch.nn.ModuleDict()
        self.up = torch.nn.ModuleDict()
        self.fourier_bases = {}

    def add_adapter(self, name, rank=8):
        inputs, outputs = self.base.in_features, self.base.out_features
        self.down[name] = torch.nn.Linear(inputs, rank, bias=False).to("cuda")
        self.up[name] = torch.nn.Linear(rank, outputs, bias=False).to("cuda")
        self.fourier_bases[name] = torch.randn(256, outputs, device="cuda")

    def delete_adapter(self, name):
        for part in (self.down, self.up):
            del part[name]

    def forward(self, x, name):
        return self.base(x) + self.up[name](self.down[name](x)) + self.fourier_bases[name][: len(x)]


layer = LoraLinear(64, 1024).to("cuda")
for task in range(16):
    name = f"task{task}"
    layer.add_adapter(name)
    optimizer = torch.optim.SGD([*layer.down[name].parameters(), *layer.up[name].parameters()], lr=0.1)
    layer(torch.randn(32, 64, device="cuda"), name).square().mean().backward()
    optimizer.step()
    layer.delete_adapter(name)
