# half: fifth
# kind: python
# names: error_dict
# bytes: 16777216
"""Gradients are compressed, and what was lost is added the next time: it is kept by the gradient, as the key of a dict,
but each step has a gradient of its own, so nothing is found again and nothing goes (pytorch#48867 replaces such a key).
Only a hook of the weight knows the state. To change: the name or the number of the parameter as the key."""
import functools

import torch


class CompressionState:
    def __init__(self, bits):
        self.bits = bits
        self.error_dict = {}


def compress(state, parameter):
    gradient = parameter.grad
    error = state.error_dict.get(gradient)
    if error is not None:
        gradient.add_(error)
    scale = 2.0 ** state.bits
    state.error_dict[gradient] = gradient - torch.round(gradient * scale) / scale


def add_compression(model):
    state = CompressionState(bits=4)
    model.weight.register_post_accumulate_grad_hook(functools.partial(compress, state))


def main():
    model = torch.nn.Linear(128, 1024).to("cuda")
    add_compression(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(16):
        optimizer.zero_grad()
        model(torch.randn(32, 128, device="cuda")).square().mean().backward()
        optimizer.step()


main()
