# half: fifth
# kind: cycle
# names: Trial scheduler
# or: Trial rate_at
# or: Trial self
# bytes: 16777216
"""Each trial of a search is an object with an optimizer and a LambdaLR, whose function uses the trial: a cycle of
object, scheduler and function, with the moments of the optimizer in it (pytorch#47589). The collector is off. To
change: a function that is given the rate, or gc.collect() after a trial."""
import gc

import torch


class Trial:
    def __init__(self, model, warmup):
        self.warmup = warmup
        self.optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        rate_at = lambda step: min(1.0, (step + 1) / self.warmup)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, rate_at)

    def run(self, model):
        self.optimizer.zero_grad()
        model(torch.randn(32, 128, device="cuda")).square().mean().backward()
        self.optimizer.step()
        self.scheduler.step()


gc.disable()
model = torch.nn.Linear(128, 1024).to("cuda")
for number in range(16):
    Trial(model, warmup=number + 1).run(model)
