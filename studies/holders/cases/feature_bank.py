# half: second
# kind: python
# names: bank encoder
# bytes: 16777216
"""A memory bank for contrastive learning is a plain dict of a module, by number of the step, and never overwritten
(forum questions on MoCo and SimCLR from scratch). To change: one buffer of fixed size, used as a ring."""
import torch


class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.project = torch.nn.Linear(64, 1024)
        self.bank = {}

    def forward(self, batch, step):
        keys = self.project(batch)
        self.bank[step] = {"keys": keys.detach(), "labels": None}
        return keys


class Pipeline:
    def __init__(self):
        self.encoder = Encoder().to("cuda")
        self.optimizer = torch.optim.SGD(self.encoder.parameters(), lr=0.1)

    def step(self, number):
        loss = self.encoder(torch.randn(256, 64, device="cuda"), number).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


pipeline = Pipeline()
for number in range(16):
    pipeline.step(number)
