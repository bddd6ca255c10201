"""Rollouts without gradients, then updates of the policy from them."""
# steps: 64

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
dev = "cuda"


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.pi, self.v = nn.Linear(16, 64), nn.Linear(64, 4), nn.Linear(64, 1)

    def forward(self, s):
        h = torch.tanh(self.body(s))
        return torch.distributions.Categorical(logits=self.pi(h), validate_args=False), self.v(h).squeeze(-1)


policy = Policy().to(dev)
opt = torch.optim.Adam(policy.parameters())
for update in range(4):
    states, actions, logs = [], [], []
    with torch.no_grad():
        for t in range(32):
            s = torch.randn(8, 16, device=dev)
            d, v = policy(s)
            a = d.logits.argmax(-1)
            states.append(s), actions.append(a), logs.append(d.log_prob(a))
    s, a, old = torch.cat(states), torch.cat(actions), torch.cat(logs)
    for epoch in range(4):
        for rows in torch.randperm(256, device=dev).split(64):
            d, v = policy(s[rows])
            ratio = (d.log_prob(a[rows]) - old[rows]).exp()
            loss = -torch.min(ratio, ratio.clamp(0.8, 1.2)).mean() + v.pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
