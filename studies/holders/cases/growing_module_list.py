# half: first
# kind: python
# names: adapters
# bytes: 16777216
"""Each task appends an adapter to a ModuleList; the earlier ones are never used again but stay on the GPU. To change:
move finished adapters to the CPU."""
import torch


class Adapted(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.base = torch.nn.Linear(64, 1024)
        self.adapters = torch.nn.ModuleList()

    def start_task(self):
        self.adapters.append(torch.nn.Linear(1024, 256, device="cuda"))

    def forward(self, batch):
        return self.adapters[-1](self.base(batch))


def main():
    network = Adapted().to("cuda")
    optimizer = torch.optim.SGD(network.base.parameters(), lr=0.1)
    for _ in range(16):
        network.start_task()
        loss = network(torch.randn(8, 64, device="cuda")).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        network.adapters[-1].zero_grad()


main()
