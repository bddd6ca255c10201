# half: second
# kind: python
# names: for_report
# bytes: 16777216
"""itertools.tee gives two iterators; training advances one, and the report, which waits for the end, the other. All
between them is kept inside the tee. To change: do not tee batches; collect numbers for the report."""
import itertools

import torch


def batches(count):
    for _ in range(count):
        yield torch.randn(256, 1024, device="cuda")


def main():
    model = torch.nn.Linear(1024, 16).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for_training, for_report = itertools.tee(batches(16))
    for batch in for_training:
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()
    print(sum(len(batch) for batch in for_report))


main()
