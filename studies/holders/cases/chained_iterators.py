# half: fourth
# kind: python
# names: replay
# bytes: 16777216
"""What should be trained on again later is appended to an iterator by itertools.chain, over and over; nothing reads it
before the warm-up is over, so the chain of chains has all batches, and looks like an iterator of no size (questions on
lazy iterators that are not lazy in memory). To change: a bounded deque."""
import itertools

import torch


class Learner:
    def __init__(self, model, warm_up):
        self.model = model
        self.warm_up = warm_up
        self.replay = iter(())
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def batch_for(self, step, fresh):
        if step < self.warm_up:
            self.replay = itertools.chain(self.replay, [fresh])
            return fresh
        return next(self.replay)

    def learn(self, step, fresh):
        self.optimizer.zero_grad()
        self.model(self.batch_for(step, fresh)).square().mean().backward()
        self.optimizer.step()


learner = Learner(torch.nn.Linear(1024, 8).to("cuda"), warm_up=1000)
for step in range(16):
    learner.learn(step, torch.randn(256, 1024, device="cuda"))
