# half: first
# kind: python
# names: _features
# bytes: 16777216
"""A program of two files: the second has a module-level store that main.py only reaches by its functions, and whose
entries nobody forgets. To change: call store.forget(step) after use."""
import store
import torch


def main():
    model = torch.nn.Linear(64, 1024).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(16):
        output = model(torch.randn(256, 64, device="cuda"))
        store.remember(step, output.detach())
        optimizer.zero_grad()
        output.square().mean().backward()
        optimizer.step()
        store.recall(step)


main()
