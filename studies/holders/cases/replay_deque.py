# half: first
# kind: python
# names: memory agent
# bytes: 16777216
"""A replay memory of a reinforcement learner is far longer than the run, and its transitions stay on the GPU
(asked again and again in forums). To change: keep the transitions on the CPU, or a shorter deque."""
import collections

import torch

Transition = collections.namedtuple("Transition", "state action reward")


class Agent:
    def __init__(self):
        self.policy = torch.nn.Linear(1024, 8).to("cuda")
        self.optimizer = torch.optim.Adam(self.policy.parameters())
        self.memory = collections.deque(maxlen=100000)

    def act(self, state):
        action = self.policy(state)
        self.memory.append(Transition(state, action.detach(), 0.0))
        return action

    def learn(self, action):
        self.optimizer.zero_grad()
        action.square().mean().backward()
        self.optimizer.step()


agent = Agent()
for episode in range(16):
    agent.learn(agent.act(torch.randn(256, 1024, device="cuda")))
