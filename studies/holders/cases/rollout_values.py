# half: third
# kind: autograd
# names: values rollouts
# or: values RolloutStorage
# bytes: 16777216
"""Rollouts of a policy are copied into tensors that were made once, so nothing should grow; but what the critic says is
copied with its graph, and a copy in place takes the graph over (questions on PPO storage without no_grad(); pymarl#73).
To change: no_grad() in act, or value.detach() in insert."""
import torch


class RolloutStorage:
    def __init__(self, steps, environments):
        self.values = torch.zeros(steps, environments, device="cuda")
        self.rewards = torch.zeros(steps, environments, device="cuda")

    def insert(self, step, value, reward):
        self.values[step] = value.squeeze(1)
        self.rewards[step] = reward


class Policy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = torch.nn.Sequential(torch.nn.Linear(64, 1024), torch.nn.Tanh(), torch.nn.Linear(1024, 1))
        self.actor = torch.nn.Linear(64, 4)

    def act(self, observation):
        return self.actor(observation), self.critic(observation)


policy = Policy().to("cuda")
optimizer = torch.optim.SGD(policy.actor.parameters(), lr=0.1)
rollouts = RolloutStorage(steps=128, environments=256)
for step in range(16):
    action, value = policy.act(torch.randn(256, 64, device="cuda"))
    rollouts.insert(step, value, 1.0)
    optimizer.zero_grad()
    action.square().mean().backward()
    optimizer.step()
