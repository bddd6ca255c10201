"""Five iterations of the critic for one of the generator, with a gradient penalty."""
# steps: 60

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
dev = "cuda"


def mlp(width=128, out=10):
    return nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, out)).to(dev)


def batch(n=32):
    return torch.randn(n, 64, device=dev), torch.randint(0, 10, (n,), device=dev)

G, C = nn.Sequential(nn.Linear(16, 128), nn.ReLU(), nn.Linear(128, 64)).to(dev), mlp(out=1)
og, oc = torch.optim.Adam(G.parameters()), torch.optim.Adam(C.parameters())
for step in range(12):
    for turn in range(5):
        x, _ = batch()
        fake = G(torch.randn(32, 16, device=dev)).detach()
        mix = torch.lerp(x, fake, torch.rand(32, 1, device=dev)).requires_grad_()
        g, = torch.autograd.grad(C(mix).sum(), mix, create_graph=True)
        loss = C(fake).mean() - C(x).mean() + 10 * (g.norm(dim=1) - 1).pow(2).mean()
        oc.zero_grad()
        loss.backward()
        oc.step()
    og.zero_grad()
    (-C(G(torch.randn(32, 16, device=dev))).mean()).backward()
    og.step()
