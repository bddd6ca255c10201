# half: seventh
# kind: python
# names: fisher ewc
# or: fisher EWC
# or: means ewc
# or: means EWC
# bytes: 25165824
"""Against forgetting, a penalty holds the weights near those of earlier tasks, by how much they mattered: means and
importances are kept for each task, and each is as large as the network (questions on elastic weight consolidation with
many tasks; the online form needs one of each). To change: one running mean of the importances, or both on the CPU."""
import time

import torch


class EWC:
    def __init__(self, strength):
        self.strength = strength
        self.fisher = {}
        self.means = {}

    def penalty(self, model):
        total = 0
        for task in self.fisher:
            for name, weight in model.named_parameters():
                total = total + (self.fisher[task][name] * (weight - self.means[task][name]).square()).sum()
        return self.strength * total

    def finish_task(self, task, model):
        self.fisher[task] = {name: weight.grad.square() for name, weight in model.named_parameters()}
        self.means[task] = {name: weight.detach().clone() for name, weight in model.named_parameters()}


def main():
    model = torch.nn.Linear(128, 1024).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    ewc = EWC(strength=100)
    for task in range(24):
        optimizer.zero_grad()
        loss = model(torch.randn(32, 128, device="cuda")).square().mean()
        (loss + ewc.penalty(model)).backward()
        optimizer.step()
        ewc.finish_task(task, model)
        time.sleep(0.03)  # stands for the time of the kernels


main()
