# half: fourth
# kind: autograd python
# names: old_policies agent
# or: old_policies Agent
# bytes: 16777216
"""A policy is a distribution, and the step size is chosen by its distance from older ones, so these are kept; each has
the output of the network as its mean, and so the graph (garage#2342, and questions on the old policy in TRPO). To
change: Normal(mean.detach(), deviation), and keep one."""
import torch
from torch.distributions import Normal, kl_divergence


class Agent:
    def __init__(self):
        self.body = torch.nn.Sequential(torch.nn.Linear(16, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 2)).to("cuda")
        self.old_policies = []

    def policy(self, observations):
        mean = self.body(observations)
        return Normal(mean, torch.ones_like(mean), validate_args=False)

    def distance(self, policy):
        if not self.old_policies:
            return torch.zeros((), device="cuda")
        with torch.no_grad():
            return kl_divergence(self.old_policies[-1], policy).mean()


def improve(agent, optimizer, observations):
    policy = agent.policy(observations)
    distance = agent.distance(policy)
    agent.old_policies.append(policy)
    optimizer.zero_grad()
    agent.body(observations[:8]).square().mean().backward()
    optimizer.step()
    return distance


agent = Agent()
optimizer = torch.optim.SGD(agent.body.parameters(), lr=0.1)
for step in range(16):
    improve(agent, optimizer, torch.randn(256, 16, device="cuda"))
