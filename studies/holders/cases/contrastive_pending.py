# half: fifth
# kind: autograd python
# names: pending
# bytes: 16777216
"""A contrastive loss needs more pairs than fit into one batch, so embeddings wait, with their graphs, until there are
enough for a loss; the number that is enough was taken from a paper with 512 GPUs (questions on large batches for
contrastive losses). To change: a smaller number, or cache gradients instead of graphs."""
import torch


class Contrast:
    def __init__(self, enough):
        self.enough = enough
        self.pending = []

    def add(self, queries, keys):
        self.pending.append((queries, keys))
        if len(self.pending) * len(queries) < self.enough:
            return None
        queries, keys = (torch.cat(side) for side in zip(*self.pending))
        self.pending = []
        return torch.nn.functional.cross_entropy(queries @ keys.T, torch.arange(len(queries), device="cuda"))


def main():
    contrast = Contrast(enough=32768)
    encoder = torch.nn.Sequential(torch.nn.Linear(64, 1024), torch.nn.Tanh(), torch.nn.Linear(1024, 16)).to("cuda")
    optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)
    for step in range(16):
        optimizer.zero_grad()
        encoder(torch.randn(32, 64, device="cuda")).square().mean().backward()
        images = torch.randn(128, 64, device="cuda")
        loss = contrast.add(encoder(images), encoder(images + 0.1))
        if loss is not None:
            loss.backward()
        optimizer.step()


main()
