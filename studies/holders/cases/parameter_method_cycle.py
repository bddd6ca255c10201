# half: third
# kind: cycle
# names: full_value
# bytes: 25165824
"""A method is put on each parameter by hand, as an attribute; it is bound to the parameter, and so parameter and method
hold each other (DeepSpeed#5496). A new model is made for each trial, the collector is off. To change: a function of the
parameter, or delete the attribute when the model goes."""
import gc
import types

import torch

gc.disable()


def full_value(parameter):
    return parameter.detach().float()


def link(model):
    for parameter in model.parameters():
        parameter.full_value = types.MethodType(full_value, parameter)


def trial():
    model = torch.nn.Linear(256, 1024, bias=False).to("cuda")
    link(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.randn(16, 256, device="cuda")).square().mean().backward()
    optimizer.step()
    return model.weight.full_value().mean()


for number in range(12):
    trial()
