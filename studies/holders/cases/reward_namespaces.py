# half: fifth
# kind: python
# names: functions mixer
# or: functions RewardMixer
# or: table reward
# bytes: 16777216
"""Rewards are texts with a function in it, which are executed when they are loaded; a function has the names of its
text as its globals, with a table on the GPU among them, and the mixer keeps a new function at each change of the
weights (questions on functions made by exec). To change: replace the function of the same text, or make the table in
it."""
import torch

SOURCE = """
import torch

scale = {scale}
table = torch.rand(1024, 256, device="cuda") * scale


def reward(answers):
    return (answers @ table).mean(1)
"""


def load_reward(scale):
    namespace = {}
    exec(SOURCE.format(scale=scale), namespace)
    return namespace["reward"]


class RewardMixer:
    def __init__(self):
        self.functions = []

    def set_scale(self, scale):
        self.functions.append(load_reward(scale))

    def __call__(self, answers):
        return self.functions[-1](answers)


def train(mixer, steps):
    policy = torch.nn.Linear(64, 1024).to("cuda")
    optimizer = torch.optim.SGD(policy.parameters(), lr=0.1)
    for step in range(steps):
        mixer.set_scale(1.0 / (step + 1))
        optimizer.zero_grad()
        (-mixer(policy(torch.randn(32, 64, device="cuda"))).mean()).backward()
        optimizer.step()


train(RewardMixer(), 16)
