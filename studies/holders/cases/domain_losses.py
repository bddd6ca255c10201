# half: seventh
# kind: autograd
# names: domain_losses
# bytes: 25165824
"""A model is trained on texts of several domains, and how well it does on each is added up in a dict of losses, from
which the shares of the domains are to be computed; the losses are tensors and were computed with gradients on
(labelmodels#4, in a dict). To change: domain_losses[domain] += loss.item(), or no_grad() in evaluate()."""
import collections
import time

import torch

DOMAINS = ("books", "code", "news")


def evaluate(model, domain, domain_losses):
    texts = torch.randn(256, 64, device="cuda")
    domain_losses[domain] += model(texts).square().mean()


def main():
    model = torch.nn.Sequential(torch.nn.Linear(64, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 1)).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    domain_losses = collections.defaultdict(float)
    for step in range(24):
        optimizer.zero_grad()
        model(torch.randn(256, 64, device="cuda")).square().mean().backward()
        optimizer.step()
        evaluate(model, DOMAINS[step % len(DOMAINS)], domain_losses)
        time.sleep(0.03)  # stands for the time of the kernels
    print({domain: float(loss) for domain, loss in domain_losses.items()})


main()
