"""A bounded replay buffer, and a target network."""

import collections
import copy
import random

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
dev = "cuda"
q = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 4)).to(dev)
tq = copy.deepcopy(q)
opt = torch.optim.RMSprop(q.parameters())
buf = collections.deque(maxlen=30)
for step in range(150):
    s = torch.randn(16, 32, device=dev)
    buf.append(s)
    b = torch.cat(random.sample(list(buf), min(len(buf), 4)))
    with torch.no_grad():
        t = tq(b).max(1)[0]
    loss = F.smooth_l1_loss(q(b).max(1)[0], t)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        tq.load_state_dict(q.state_dict())
