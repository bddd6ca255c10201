# half: first
# kind: python
# names: batch attempt
# bytes: 12582912
"""Retrying from inside the except clause: each attempt runs below the one that failed, whose frame still has its batch
(the FAQ of PyTorch warns of this for out-of-memory errors). To change: retry after the except clause."""
import torch

model = torch.nn.Linear(1024, 16).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def attempt(number):
    batch = torch.randn(256, 1024, device="cuda")
    optimizer.zero_grad()
    model(batch).square().mean().backward()
    optimizer.step()
    try:
        if number < 12:
            raise RuntimeError("pretend that memory ran out")
    except RuntimeError:
        attempt(number + 1)


attempt(1)
