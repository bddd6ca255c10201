# half: fourth
# kind: autograd
# names: priorities replay
# or: priorities PrioritizedReplay
# bytes: 16777216
"""A replay memory keeps transitions on the CPU, as it should, with a priority for each: the error of the critic when
the transition came, as a tensor with its graph (questions on prioritized replay and GPU memory). To change: no_grad()
when the first priority is computed, or float(error)."""
import numpy
import torch


class PrioritizedReplay:
    def __init__(self):
        self.observations = []
        self.priorities = []

    def add(self, observations, error):
        self.observations.append(observations)
        self.priorities.append(error.abs() + 1e-6)

    def newest(self, number):
        return numpy.concatenate(self.observations[-number:])


class Agent:
    def __init__(self):
        self.critic = torch.nn.Sequential(torch.nn.Linear(16, 1024), torch.nn.Tanh(), torch.nn.Linear(1024, 1))
        self.critic.to("cuda")
        self.optimizer = torch.optim.SGD(self.critic.parameters(), lr=0.1)
        self.replay = PrioritizedReplay()

    def observe(self, observations, reward):
        value = self.critic(torch.as_tensor(observations, device="cuda"))
        self.replay.add(observations, (reward - value).mean())

    def learn(self):
        batch = torch.as_tensor(self.replay.newest(1)[:8], device="cuda")
        self.optimizer.zero_grad()
        self.critic(batch).square().mean().backward()
        self.optimizer.step()


agent = Agent()
for step in range(16):
    agent.observe(numpy.zeros((256, 16), dtype=numpy.float32), reward=1.0)
    agent.learn()
