# half: fifth
# kind: autograd
# names: params
# bytes: 16777216
"""A loop in the functional style takes gradients with torch.func.grad and makes new parameters out of the old ones; the
first ones came from a module and require gradients, so each update is part of one graph that begins with them
(functorch#639). To change: detach the parameters before the first step."""
import torch


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = torch.nn.Linear(64, 1024)
        self.out = torch.nn.Linear(1024, 1)

    def forward(self, x):
        return self.out(torch.relu(self.hidden(x)))


def loss_of(params, model, batch):
    return torch.func.functional_call(model, params, (batch,)).square().mean()


def train(steps):
    model = Network().to("cuda")
    params = dict(model.named_parameters())
    for step in range(steps):
        gradients = torch.func.grad(loss_of)(params, model, torch.randn(256, 64, device="cuda"))
        params = {name: value - 0.1 * gradients[name] for name, value in params.items()}
    return params


train(16)
