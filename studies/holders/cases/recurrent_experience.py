# half: seventh
# kind: autograd
# names: experience
# or: segments Experience
# bytes: 44040192
"""A recurrent policy stores the state of its cell with each segment of a game, so that training can begin from there;
the observations are on the CPU and the state is small, but it has the graph of its segment (metta#1139). To change:
detach the state before it is stored, or no_grad() in the rollout."""
import time

import torch


class Experience:
    def __init__(self):
        self.segments = []

    def store(self, observations, state):
        self.segments.append((observations.cpu(), state))


class Policy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = torch.nn.LSTMCell(32, 128)
        self.head = torch.nn.Linear(128, 4)

    def forward(self, observations, state=None):
        for observation in observations:
            state = self.cell(observation, state)
        return self.head(state[0]), state


def rollout(policy, experience):
    observations = torch.randn(4, 64, 32, device="cuda")
    actions, state = policy(observations)
    experience.store(observations, state)
    return len(actions)


def main():
    policy = Policy().to("cuda")
    optimizer = torch.optim.Adam(policy.parameters())
    experience = Experience()
    for _ in range(24):
        rollout(policy, experience)
        optimizer.zero_grad()
        actions, _ = policy(experience.segments[-1][0].to("cuda"))
        actions.square().mean().backward()
        optimizer.step()
        time.sleep(0.03)  # stands for the time of the kernels


main()
