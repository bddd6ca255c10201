# half: first
# kind: python
# names: errors
# bytes: 16777216
"""Exceptions are kept to be shown at the end; each has a traceback, the traceback the frames, and these the batches
(pytorch#10348, pytorch#27600). To change: keep str(error)."""
import torch

errors = []


def visualize(batch):
    image = batch.reshape(512, 512)
    raise OSError(f"no screen for {tuple(image.shape)}")


def train():
    model = torch.nn.Linear(1024, 16).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(16):
        optimizer.zero_grad()
        model(torch.randn(8, 1024, device="cuda")).square().mean().backward()
        optimizer.step()
        try:
            visualize(torch.randn(256, 1024, device="cuda"))
        except OSError as error:
            errors.append((step, error))


train()
