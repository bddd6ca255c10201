# half: fourth
# kind: python
# names: updates optimizer
# or: updates record_updates
# or: updates step
# bytes: 16777216
"""To look at the size of updates, the step of the optimizer is replaced by a function that copies the weights after
each step; the copies are in a variable of the function that made the patch (recipes for logging update ratios). To
change: keep the norm of the difference, and take the patch off."""
import torch


def record_updates(optimizer):
    original = optimizer.step
    updates = []

    def step(*arguments, **options):
        result = original(*arguments, **options)
        weights = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        updates.append([weight.detach().clone() for weight in weights])
        return result

    optimizer.step = step


def train_epoch(model, optimizer):
    for _ in range(16):
        optimizer.zero_grad()
        model(torch.randn(8, 256, device="cuda")).square().mean().backward()
        optimizer.step()


model = torch.nn.Linear(256, 1024).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
record_updates(optimizer)
train_epoch(model, optimizer)
