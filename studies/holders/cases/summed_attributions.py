# half: fourth
# kind: autograd
# names: attributions
# bytes: 33554432
"""Attributions of a layer are gradient times activation, summed over batches; the activation still has its graph, and
the sum gets the graphs of all batches (captum#633, captum#1347). To change: detach what is added."""
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(64, 1024)
        self.head = torch.nn.Linear(1024, 4)

    def forward(self, images):
        return self.head(torch.tanh(self.body(images)))


class Conductance:
    def __init__(self, model):
        self.model = model
        self.attributions = torch.zeros(1024, device="cuda")

    def attribute(self, images):
        hidden = torch.tanh(self.model.body(images))
        target = self.model.head(hidden)[:, 0].sum()
        (gradient,) = torch.autograd.grad(target, hidden, retain_graph=True)
        self.attributions = self.attributions + (gradient * hidden).mean(dim=0)


def train(model, optimizer):
    conductance = Conductance(model)
    for _ in range(16):
        optimizer.zero_grad()
        model(torch.randn(8, 64, device="cuda")).square().mean().backward()
        optimizer.step()
        conductance.attribute(torch.randn(256, 64, device="cuda"))
    return conductance.attributions.detach().cpu()


model = Net().to("cuda")
train(model, torch.optim.SGD(model.parameters(), lr=0.1))
