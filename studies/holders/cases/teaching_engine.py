# half: seventh
# kind: cycle
# names: _backward
# or: out Value
# or: data Value
# bytes: 25165824
"""A small engine for gradients, written to learn how one works: each value has a function that hands its gradient on,
and this function uses the value it belongs to, `out`, so each value is in a cycle with its own function (the way of
micrograd, here with tensors, and questions on its memory). The threshold of the collector was raised. To change: give
the gradient to _backward as an argument."""
import gc
import time

import torch


class Value:
    def __init__(self, data, children=()):
        self.data = data
        self.grad = None
        self.children = children
        self._backward = lambda: None

    def add_grad(self, grad):
        self.grad = grad if self.grad is None else self.grad + grad

    def __matmul__(self, other):
        out = Value(self.data @ other.data, (self, other))

        def _backward():
            other.add_grad(self.data.T @ out.grad)

        out._backward = _backward
        return out

    def mean_square(self):
        out = Value(self.data.square().mean(), (self,))

        def _backward():
            self.add_grad(2 * self.data * out.grad / self.data.numel())

        out._backward = _backward
        return out

    def backward(self):
        self.grad = torch.ones_like(self.data)
        waiting = [self]
        while waiting:
            value = waiting.pop()
            value._backward()
            waiting.extend(value.children)


@torch.no_grad()
def train(weight):
    for _ in range(24):
        loss = (Value(torch.randn(128, 64, device="cuda")) @ weight).mean_square()
        loss.backward()
        weight.data -= 0.1 * weight.grad
        weight.grad = None
        time.sleep(0.03)  # stands for the time of the kernels


gc.set_threshold(100_000, 50, 100)
train(Value(torch.zeros(64, 1024, device="cuda")))
