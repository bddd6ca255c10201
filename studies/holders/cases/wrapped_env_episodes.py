# half: third
# kind: python
# names: episodes env
# or: episodes Monitor
# bytes: 16777216
"""An environment of a reinforcement learner is in wrappers; one of them, in the middle, remembers all episodes with
their last observation, on the GPU (stable-baselines3#1908 is about information on episodes that stays). To change: a
bounded deque, without the observation."""
from typing import NamedTuple

import torch


class Episode(NamedTuple):
    length: int
    reward: float
    terminal_observation: torch.Tensor


class Grid:
    def reset(self):
        return torch.zeros(256, 1024, device="cuda")

    def step(self, action):
        return torch.randn(256, 1024, device="cuda"), 1.0, False


class Wrapper:
    def __init__(self, env):
        self.env = env

    def reset(self):
        return self.env.reset()

    def step(self, action):
        return self.env.step(action)


class TimeLimit(Wrapper):
    limit = 2
    steps = 0

    def step(self, action):
        observation, reward, done = self.env.step(action)
        self.steps += 1
        return observation, reward, done or self.steps % self.limit == 0


class Monitor(Wrapper):
    def __init__(self, env):
        super().__init__(env)
        self.episodes = []
        self.rewards = []

    def step(self, action):
        observation, reward, done = self.env.step(action)
        self.rewards.append(reward)
        if done:
            self.episodes.append(Episode(len(self.rewards), sum(self.rewards), observation))
            self.rewards = []
        return observation, reward, done


class ScaleReward(Wrapper):
    def step(self, action):
        observation, reward, done = self.env.step(action)
        return observation, reward / 10, done


env = ScaleReward(Monitor(TimeLimit(Grid())))
policy = torch.nn.Linear(1024, 4).to("cuda")
optimizer = torch.optim.SGD(policy.parameters(), lr=0.1)
for number in range(16):
    observation, done = env.reset(), False
    while not done:
        loss = policy(observation).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        observation, reward, done = env.step(0)
