"""The same with clipped gradients and plain SGD."""
# steps: 36

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
dev = "cuda"

rnn = nn.GRU(32, 64, 2).to(dev)
embed, out = nn.Embedding(100, 32).to(dev), nn.Linear(64, 100).to(dev)
weights = [*rnn.parameters(), *embed.parameters(), *out.parameters()]
opt = torch.optim.SGD(weights, lr=1.0)
state = torch.zeros(2, 16, 64, device=dev)
for step in range(36):
    tokens = torch.randint(0, 100, (21, 16), device=dev)
    state = state.detach()
    y, state = rnn(embed(tokens[:-1]), state)
    loss = F.cross_entropy(out(y).flatten(0, 1), tokens[1:].flatten())
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(weights, 0.25)
    opt.step()
