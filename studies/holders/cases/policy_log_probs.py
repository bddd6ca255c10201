# half: second
# kind: autograd
# names: log_probs
# bytes: 16777216
"""REINFORCE saves the log-probability of each action for the end of the episode; this episode does not end (the
example of PyTorch that people adapt clears the list). To change: bound the episode, delete log_probs after it."""
import torch


class Policy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.choose = torch.nn.Linear(64, 1024)
        self.value = torch.nn.Linear(64, 1)
        self.log_probs = []
        self.rewards = []

    def act(self, state):
        self.log_probs.append(torch.log_softmax(self.choose(state), dim=1)[:, 0].mean())
        self.rewards.append(1.0)


def play(policy, optimizer):
    for _ in range(16):
        policy.act(torch.randn(256, 64, device="cuda"))
        loss = policy.value(torch.randn(4, 64, device="cuda")).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


policy = Policy().to("cuda")
play(policy, torch.optim.SGD(policy.value.parameters(), lr=0.1))
