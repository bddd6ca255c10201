# half: seventh
# kind: python
# names: _params
# or: _PARAM_STORE
# bytes: 25165824
"""A language for probabilistic models has parameters by name, in one store for the whole program; a guide has a local
mean for each batch, whose name has the number of the batch, and batches are drawn anew each time, so no name comes
twice (as with pyro.param and clear_param_store(), and questions on local variables in it). To change: compute the local
mean by a network, or take the name out of the store after the step."""
import time

import torch


class ParamStore:
    def __init__(self):
        self._params = {}

    def setdefault(self, name, start):
        if name not in self._params:
            self._params[name] = start().requires_grad_()
        return self._params[name]


_PARAM_STORE = ParamStore()


def param(name, start):
    return _PARAM_STORE.setdefault(name, start)


def guide(number, batch):
    scale = param("scale", lambda: torch.ones(1024, device="cuda"))
    mean = param(f"mean_{number}", lambda: torch.zeros(len(batch), 1024, device="cuda"))
    return [scale, mean], mean + scale * torch.randn_like(mean)


def infer(decoder):
    for number in range(24):
        batch = torch.randn(256, 8, device="cuda")
        params, sample = guide(number, batch)
        optimizer = torch.optim.SGD([*params, *decoder.parameters()], lr=0.1)
        (decoder(sample) - batch).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        time.sleep(0.03)  # stands for the time of the kernels


infer(torch.nn.Linear(1024, 8).to("cuda"))
