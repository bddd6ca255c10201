"""A recurrent network passes its state from one part of the text to the next."""
# steps: 40

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
dev = "cuda"


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.rnn, self.out = nn.Embedding(100, 32), nn.LSTMCell(32, 64), nn.Linear(64, 100)

    def forward(self, tokens, state):
        outs = []
        for t in range(tokens.shape[1]):
            state = self.rnn(self.embed(tokens[:, t]), state)
            outs.append(self.out(state[0]))
        return torch.stack(outs, 1), state


model = Reader().to(dev)
opt = torch.optim.Adam(model.parameters())
text = torch.randint(0, 100, (8, 41 * 20), device=dev)
state = None
for step in range(40):
    part = text[:, step * 20:(step + 1) * 20 + 1]
    out, state = model(part[:, :-1], state)
    state = tuple(s.detach() for s in state)
    loss = F.cross_entropy(out.flatten(0, 1), part[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
