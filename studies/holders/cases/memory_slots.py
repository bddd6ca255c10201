# half: second
# kind: autograd
# names: slots memory
# or: slots Memory
# bytes: 16777216
"""A memory network writes its slots anew from the old ones at each step and keeps the whole history of the writing;
the loss reads a copy that was detached. To change: detach what is stored, not what is read."""
import torch


class Memory(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.write = torch.nn.Linear(16, 1024)
        self.slots = torch.zeros(256, 1024, device="cuda")

    def forward(self, batch):
        self.slots = self.slots + torch.sigmoid(self.write(batch))
        return self.slots.detach()


class Reader(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.memory = Memory()
        self.read = torch.nn.Linear(1024, 4)

    def forward(self, batch):
        return self.read(self.memory(batch))


def train():
    reader = Reader().to("cuda")
    optimizer = torch.optim.SGD(reader.read.parameters(), lr=0.1)
    for _ in range(16):
        loss = reader(torch.randn(256, 16, device="cuda")).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


train()
