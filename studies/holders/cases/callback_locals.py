# half: sixth
# kind: python
# names: locals agent
# or: locals EvalCallback
# or: callbacks agent
# bytes: 16777216
"""A callback of a reinforcement learner may look at all local variables of the function that collects experience, and
gets locals() as a dict; each round has a callback of its own, and the agent keeps them to report at the end
(stable-baselines3#1966 is about memory from run to run). To change: drop a callback after its round, or
callback.locals = {} there."""
import torch


class EvalCallback:
    def __init__(self, round_number):
        self.round_number = round_number
        self.locals = {}

    def update_locals(self, names):
        self.locals.update(names)

    def on_step(self):
        return self.locals["steps"] > 0


class Agent:
    def __init__(self):
        self.policy = torch.nn.Linear(64, 1024).to("cuda")
        self.optimizer = torch.optim.SGD(self.policy.parameters(), lr=0.1)
        self.callbacks = []

    def collect(self, callback):
        observations = torch.randn(256, 64, device="cuda")
        with torch.no_grad():
            actions = self.policy(observations)
        steps = len(actions)
        callback.update_locals(locals())
        callback.on_step()
        return observations

    def learn(self, callback):
        self.callbacks.append(callback)
        observations = self.collect(callback)
        self.optimizer.zero_grad()
        self.policy(observations).square().mean().backward()
        self.optimizer.step()


agent = Agent()
for round_number in range(16):
    agent.learn(EvalCallback(round_number))
