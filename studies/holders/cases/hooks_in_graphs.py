# half: third
# kind: autograd python
# names: losses
# or: importance
# bytes: 16777216
"""Losses are listed after backward(), when their graphs have let go of what they saved; but a hook on the features of
each step stays in the graph, and has the importance of the samples in its closure. To change:
losses.append(loss.item()), or multiply in the loss and not in a hook."""
import torch


def weigh_gradient(features, importance):
    features.register_hook(lambda gradient: gradient * importance)


def fit(model, optimizer, losses):
    for _ in range(16):
        features = model(torch.randn(256, 64, device="cuda"))
        weigh_gradient(features, torch.rand(256, 1024, device="cuda"))
        loss = features.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss)


losses = []
model = torch.nn.Linear(64, 1024).to("cuda")
fit(model, torch.optim.SGD(model.parameters(), lr=0.1), losses)
