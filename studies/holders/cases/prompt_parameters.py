# half: second
# kind: python
# names: prompts
# bytes: 16777216
"""Prompt tuning adds one learned prompt for each user to a ParameterDict, and never takes a user out. To change: save
and delete the prompt when the user is done."""
import torch


class Prompted(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.prompts = torch.nn.ParameterDict()
        self.read = torch.nn.Linear(1024, 8)

    def forward(self, user):
        if user not in self.prompts:
            self.prompts[user] = torch.nn.Parameter(torch.zeros(256, 1024, device="cuda"))
        return self.read(self.prompts[user])


service = {"model": Prompted().to("cuda")}
optimizer = torch.optim.SGD(service["model"].read.parameters(), lr=0.1)
for number in range(16):
    loss = service["model"](f"user{number}").square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    service["model"].zero_grad()
