# half: first
# kind: autograd
# names: penalties log
# bytes: 16777216
"""The gradient penalty of a GAN is logged with the graph that create_graph=True gave it (forum questions on WGAN-GP).
To change: log penalty.item()."""
import torch


def penalty_of(critic, batch):
    batch = batch.requires_grad_()
    score = torch.exp(critic(batch)).sum()
    gradient, = torch.autograd.grad(score, batch, create_graph=True)
    return gradient.square().mean()


log = {"penalties": [], "steps": 0}
critic = torch.nn.Linear(1024, 8).to("cuda")
optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)
for step in range(16):
    optimizer.zero_grad()
    critic(torch.randn(8, 1024, device="cuda")).square().mean().backward()
    optimizer.step()
    penalty = penalty_of(critic, torch.randn(256, 1024, device="cuda"))
    log["penalties"].append(penalty)
    log["steps"] += 1
