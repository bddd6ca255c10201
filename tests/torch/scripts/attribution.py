"""Layers with weights of different sizes, each used in a separate line, with hooks and checkpoints of
both kinds between them; prints
"lines BYTES:LINE ...": the size of each weight's gradient, and the line that used the weight."""
import inspect

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

WIDTHS = [128, 192, 320, 448, 576, 704, 352, 224, 160, 96, 272]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(WIDTHS, WIDTHS[1:]))
        self.norm = nn.LayerNorm(WIDTHS[3])

    def again(self, x):
        x = F.relu(self.layers[7](x))
        return F.relu(self.layers[8](x))

    def once_more(self, x):
        return F.relu(self.layers[9](x))

    def forward(self, x):
        x = F.relu(self.layers[0](x))
        x = F.gelu(self.layers[1](x))
        x = self.norm(self.layers[2](x))
        a, b = self.layers[3](x).chunk(2, dim=-1)  # a view: its node has no operator that allocates
        x = torch.cat([a.tanh(), b], dim=-1)
        x = F.relu(self.layers[4](x))
        changed(x)
        x = F.relu(self.layers[5](x))
        x = self.layers[6](x) * 0.5
        changed(x)
        x = checkpoint(self.again, x, use_reentrant=False)
        return checkpoint(self.once_more, x, use_reentrant=True)


def changed(x):
    """With a hook that clips or scales gradients: it has operators of its own between the nodes."""
    if x.requires_grad:
        x.register_hook(double)


def double(gradient):
    return F.relu(torch.addmm(gradient, gradient[:, :8], gradient[:8])) * 2


torch.manual_seed(0)
net = Net().cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(6):
    loss = net(torch.randn(16, WIDTHS[0], device="cuda")).pow(2).mean()
    loss *= 2  # in place: its node allocates, the operator does not
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():  # the same lines, without nodes
        net(torch.randn(16, WIDTHS[0], device="cuda"))
lines, first = inspect.getsourcelines(Net)
words = []
for index, layer in enumerate(net.layers):
    line = next(first + i for i, text in enumerate(lines) if f"layers[{index}]" in text)
    words.append(f"{(layer.weight.numel() * 4 + 511) // 512 * 512}:{line}")
print("lines", *words)
