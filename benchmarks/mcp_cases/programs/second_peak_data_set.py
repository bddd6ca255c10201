# record: --sim
"""The whole data set is on the GPU, and a part of it is used."""
import torch


class Images:
    def __init__(self, number):
        self.all = torch.randn(number, 512, device="cuda")  # HERE

    def batch(self):
        return self.all[:256]


images = Images(100_000)


model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512)).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    batch = torch.randn(256, 512, device="cuda")
    output = model(images.batch() + batch)
    output.mean().backward()
    optimizer.step()
    optimizer.zero_grad()
