# half: first
# kind: python
# names: thumbnails
# bytes: 16777216
"""Two rows of each batch are kept for a gallery: a slice is a view, and keeps the storage of the whole batch (a
frequent question on slices). To change: batch[:2].clone()."""
import torch

thumbnails = []


def main():
    model = torch.nn.Linear(1024, 16).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(16):
        batch = torch.randn(256, 1024, device="cuda")
        thumbnails.append(batch[:2])
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()


main()
