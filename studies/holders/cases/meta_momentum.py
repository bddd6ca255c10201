# half: fourth
# kind: autograd
# names: momentum optimizer
# or: momentum DifferentiableSGD
# bytes: 18874368
"""An optimizer for meta-learning can be differentiated through, so its gradients are taken with create_graph=True; the
weights start anew for each task, detached, but its momentum goes on from task to task with all graphs (reports on
differentiable optimizers). To change: a new optimizer for each task, or detach the momentum."""
import torch


class DifferentiableSGD:
    def __init__(self, lr):
        self.lr = lr
        self.momentum = {}

    def step(self, loss, weights):
        gradients = torch.autograd.grad(loss, list(weights.values()), create_graph=True)
        for name, gradient in zip(weights, gradients):
            self.momentum[name] = 0.9 * self.momentum.get(name, 0.0) + gradient
        return {name: weight - self.lr * self.momentum[name] for name, weight in weights.items()}


def output_of(weights, images):
    return torch.tanh(images @ weights["first"]) @ weights["second"]


def solve(optimizer, slow):
    weights = {name: weight.detach().clone().requires_grad_() for name, weight in slow.items()}
    images = torch.randn(128, 32, device="cuda")
    weights = optimizer.step(output_of(weights, images).square().mean(), weights)
    return {name: weight.detach() for name, weight in weights.items()}


def main():
    optimizer = DifferentiableSGD(lr=0.1)
    slow = {"first": torch.randn(32, 1024, device="cuda"), "second": torch.randn(1024, 4, device="cuda")}
    for _ in range(16):
        solved = solve(optimizer, slow)
        slow = {name: 0.9 * slow[name] + 0.1 * solved[name] for name in slow}


main()
