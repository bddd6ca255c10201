# half: second
# kind: python
# names: seen HardNegatives
# bytes: 12582912
"""A sampler puts every batch into a set that belongs to the class, so that a new sampler does not forget either.
Seen with hard negative mining. To change: remember indices, in the instance."""
import torch


class HardNegatives:
    seen = set()

    def offer(self, batch):
        self.seen.add(batch)
        return batch


def train():
    model = torch.nn.Linear(1024, 16).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        negatives = HardNegatives()
        for _ in range(4):
            batch = negatives.offer(torch.randn(256, 1024, device="cuda"))
            optimizer.zero_grad()
            model(batch).square().mean().backward()
            optimizer.step()


train()
