# half: first
# kind: python
# names: cache dataset
# or: cache Images
# bytes: 16777216
"""A data set caches its items after it moved them to the GPU (Kimi-Audio#117 caches __getitem__ without a limit). The
DataLoader holds the data set. To change: cache CPU tensors."""
import torch


class Images(torch.utils.data.Dataset):
    def __init__(self, count):
        self.count = count
        self.cache = {}

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if index not in self.cache:
            self.cache[index] = torch.randn(256, 1024).to("cuda")
        return self.cache[index]


def main():
    dataset = Images(16)
    loader = torch.utils.data.DataLoader(dataset, batch_size=1)
    model = torch.nn.Linear(1024, 16).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in loader:
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()


main()
