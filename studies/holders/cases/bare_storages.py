# half: second
# kind: python c++
# names: storages pool
# bytes: 16777216
"""A home-made memory pool keeps untyped storages of tensors for reuse; the tensors are gone, the storages are not, and
nothing reuses them. To change: let PyTorch's allocator do its work."""
import torch


class Pool:
    def __init__(self):
        self.storages = []

    def give_back(self, tensor):
        self.storages.append(tensor.untyped_storage())


pool = Pool()
model = torch.nn.Linear(1024, 16).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def train_step():
    batch = torch.randn(256, 1024, device="cuda")
    loss = model(batch).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    pool.give_back(batch)


for step in range(16):
    train_step()
