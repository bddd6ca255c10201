# half: seventh
# kind: cycle
# names: stack EvaluationSession
# or: restore EvaluationSession
# or: references EvaluationSession
# bytes: 25165824
"""A session of evaluation sets a few things and undoes them in close(), by an ExitStack of its own to which it gives
its methods; sessions are left without close(), and then session and stack hold each other (questions on ExitStack as an
attribute). The program froze what it had at the start and switched the collector off. To change: `with` for each
session."""
import contextlib
import gc
import time

import torch


class EvaluationSession:
    def __init__(self, model):
        self.model = model
        self.was_training = model.training
        self.references = None
        self.stack = contextlib.ExitStack()
        self.stack.callback(self.restore)
        model.eval()

    @torch.no_grad()
    def evaluate(self, images):
        self.references = self.model(images)
        return self.references.square().mean().item()

    def restore(self):
        self.model.train(self.was_training)

    def close(self):
        self.stack.close()


def main():
    model = torch.nn.Linear(64, 1024).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    gc.collect()
    gc.freeze()
    gc.disable()
    for step in range(24):
        model.train()
        optimizer.zero_grad()
        model(torch.randn(256, 64, device="cuda")).square().mean().backward()
        optimizer.step()
        print(step, EvaluationSession(model).evaluate(torch.randn(256, 64, device="cuda")))
        time.sleep(0.03)  # stands for the time of the kernels


main()
