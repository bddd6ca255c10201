# half: fourth
# kind: autograd
# names: jacobian_norms
# bytes: 19922944
"""A network is made smooth by the norm of its Jacobian, which must itself have a derivative; the norms are listed for a
plot as they are, and the term is used only in each second phase (questions on jacobian(create_graph=True)). To change:
append norm.item()."""
import torch
from torch.autograd.functional import jacobian


def penalty(model, images):
    return jacobian(lambda given: model(given).mean(dim=0), images, create_graph=True).square().sum()


def train(model, optimizer):
    jacobian_norms = []
    for step in range(16):
        norm = penalty(model, torch.randn(64, 16, device="cuda"))
        jacobian_norms.append(norm)
        loss = model(torch.randn(8, 16, device="cuda")).square().mean()
        if step >= 500:
            loss = loss + 0.01 * norm
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return len(jacobian_norms)


model = torch.nn.Sequential(torch.nn.Linear(16, 1024), torch.nn.Tanh(), torch.nn.Linear(1024, 2)).to("cuda")
train(model, torch.optim.SGD(model.parameters(), lr=0.1))
