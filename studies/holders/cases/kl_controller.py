# half: sixth
# kind: autograd
# names: value controller
# or: value KLController
# bytes: 16777216
"""The weight of the distance to the old policy is a number that a controller multiplies after each rollout by how far
the distance is from its target; the distance is a tensor with the graph of the rollout, so after one step the number is
a tensor too, and has the graphs of all rollouts (ray#6962 is a rollout without no_grad()). To change:
float(distance)."""
import torch


class KLController:
    def __init__(self, value, target):
        self.value, self.target = value, target

    def update(self, distance):
        error = torch.clamp(distance / self.target - 1, -0.2, 0.2)
        self.value = self.value * (1 + 0.1 * error)


class PolicyTrainer:
    def __init__(self):
        self.policy = torch.nn.Linear(64, 1024).to("cuda")
        self.reference = torch.nn.Linear(64, 1024).to("cuda").requires_grad_(False)
        self.optimizer = torch.optim.SGD(self.policy.parameters(), lr=0.1)
        self.controller = KLController(0.2, target=6.0)

    def rollout(self, states):
        distance = (self.policy(states) - self.reference(states)).square().mean()
        with torch.no_grad():
            rewards = torch.ones(len(states), 1, device="cuda") - self.controller.value * distance
        self.controller.update(distance)
        return rewards

    def step(self):
        states = torch.randn(256, 64, device="cuda")
        rewards = self.rollout(states)
        self.optimizer.zero_grad()
        (self.policy(states[:32]) * rewards[:32]).mean().backward()
        self.optimizer.step()


trainer = PolicyTrainer()
for step in range(16):
    trainer.step()
