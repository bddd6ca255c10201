# half: sixth
# kind: cycle
# names: handlers Engine
# or: output Engine
# or: handlers evaluator
# bytes: 16777216
"""An engine runs a function over batches and calls handlers with itself as their first argument, and it keeps this
argument beside each handler; an evaluator is made for each round, and its state has the last output (ignite#3438). The
threshold of the collector was raised. To change: a weak reference in `handlers`, or one evaluator for all rounds."""
import collections
import gc
import types

import torch

gc.set_threshold(1_000_000, 1000, 1000)


class Engine:
    def __init__(self, process):
        self.process = process
        self.handlers = collections.defaultdict(list)
        self.state = types.SimpleNamespace(output=None, iteration=0)

    def on(self, event, handler, *more):
        self.handlers[event].append((handler, (self, *more)))

    def run(self, batches):
        for batch in batches:
            self.state.output = self.process(batch)
            self.state.iteration += 1
        for handler, values in self.handlers["completed"]:
            handler(*values)


def log_round(engine, name):
    return name, engine.state.iteration


@torch.no_grad()
def validate(model, name):
    evaluator = Engine(model)
    evaluator.on("completed", log_round, name)
    evaluator.run([torch.randn(256, 64, device="cuda")])


def main():
    model = torch.nn.Linear(64, 1024).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(16):
        optimizer.zero_grad()
        model(torch.randn(32, 64, device="cuda")).square().mean().backward()
        optimizer.step()
        validate(model, f"round {step}")


main()
