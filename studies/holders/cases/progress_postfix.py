# half: third
# kind: python
# names: postfix instances
# or: postfix Bar
# bytes: 16777216
"""A progress bar shows the newest values behind it and keeps them; bars that are not closed stay in a set of the class,
so that they can be redrawn, and the loop over an epoch leaves by break (questions on tqdm, set_postfix and tensors). To
change: set_postfix with floats, and `with` for the bar."""
import torch


class Bar:
    instances = set()

    def __init__(self, items):
        self.items = items
        self.postfix = {}
        Bar.instances.add(self)

    def __iter__(self):
        yield from self.items
        self.close()

    def set_postfix(self, **values):
        self.postfix.update(values)

    def close(self):
        Bar.instances.discard(self)


def epoch(model, optimizer, limit):
    bar = Bar(range(100))
    for step in bar:
        losses = model(torch.randn(256, 64, device="cuda")).square()
        optimizer.zero_grad()
        losses.mean().backward()
        optimizer.step()
        bar.set_postfix(losses=losses.detach(), rate=0.1)
        if step + 1 == limit:
            break


model = torch.nn.Linear(64, 1024).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for number in range(16):
    epoch(model, optimizer, limit=1)
