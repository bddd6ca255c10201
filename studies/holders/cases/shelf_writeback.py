# half: fifth
# kind: python
# names: results
# bytes: 16777216
"""Results go into a shelf, to be out of memory; it was opened with writeback=True, so that entries can be changed in
place, and then keeps all that was put in or looked at, as it was, until sync() (the notes of shelve). To change:
results.sync() now and then, or no writeback."""
import shelve

import torch


def validate(model):
    with torch.no_grad():
        return model(torch.randn(256, 64, device="cuda"))


def train(results):
    model = torch.nn.Linear(64, 1024).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(16):
        optimizer.zero_grad()
        model(torch.randn(32, 64, device="cuda")).square().mean().backward()
        optimizer.step()
        results[f"step {step}"] = {"outputs": validate(model)}
        results[f"step {step}"]["checked"] = True


def main():
    pages = {}
    results = shelve.Shelf(pages, writeback=True)
    train(results)


main()
