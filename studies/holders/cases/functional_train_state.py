# half: fourth
# kind: python
# names: visited state
# or: visited TrainState
# bytes: 16777216
"""The state of a training is a NamedTuple that each step replaces, in the manner of JAX: nothing is ever changed in
place, and yet one field has the outputs of all steps, in a tuple that gets longer (questions from people who come from
Flax). To change: take `visited` out, or keep a number for each step."""
from typing import NamedTuple

import torch


class TrainState(NamedTuple):
    step: int
    weight: torch.Tensor
    visited: tuple


def apply(weight, batch):
    return torch.tanh(batch @ weight)


def loss_of(weight, batch):
    output = apply(weight, batch)
    return output.square().mean(), output


def train_step(state, batch):
    gradient, output = torch.func.grad(loss_of, has_aux=True)(state.weight, batch)
    return state._replace(step=state.step + 1, weight=state.weight - 0.1 * gradient,
                          visited=(*state.visited, output.detach()))


state = TrainState(0, torch.randn(64, 1024, device="cuda"), ())
while state.step < 16:
    state = train_step(state, torch.randn(256, 64, device="cuda"))
