# half: sixth
# kind: autograd
# names: diagnostics
# bytes: 25165824
"""torch.func.grad with has_aux=True gives something besides the gradients, here how active a layer was; the parameters
come from a module and require gradients, so outside of the transform what it gives has a graph of its own, and the
diagnostics keep one for each step (functorch#639 has the gradients, questions have the rest). To change: detach the
parameters before the loop, or activity.detach() in the loss."""
import collections

import torch

def loss_of(parameters, model, batch):
    hidden = torch.sigmoid(batch @ parameters["0.weight"].T + parameters["0.bias"])
    activity = hidden.square().mean()
    return (hidden @ parameters["1.weight"].T).square().mean(), {"activity": activity}


def train(model, steps):
    parameters = dict(model.named_parameters())
    diagnostics = collections.defaultdict(list)
    gradient_of = torch.func.grad(loss_of, has_aux=True)
    for _ in range(steps):
        gradients, notes = gradient_of(parameters, model, torch.randn(256, 64, device="cuda"))
        with torch.no_grad():
            for name, gradient in gradients.items():
                parameters[name] -= 0.1 * gradient
        for name, note in notes.items():
            diagnostics[name].append(note)
    return {name: len(values) for name, values in diagnostics.items()}


train(torch.nn.Sequential(torch.nn.Linear(64, 1024), torch.nn.Linear(1024, 4, bias=False)).to("cuda"), steps=24)
