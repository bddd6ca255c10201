# half: sixth
# kind: autograd
# names: delta attack
# or: delta UniversalAttack
# bytes: 16777216
"""One perturbation is sought that fools a model on all images, while the model is trained against it; each step moves
it along the sign of its gradient and bends it back to its bounds, outside no_grad(), and so the perturbation has all
earlier ones behind it (forum questions on adversarial examples in a loop). To change: detach() in move()."""
import torch


class UniversalAttack:
    def __init__(self, shape, bound):
        self.bound = bound
        self.delta = torch.zeros(shape, device="cuda", requires_grad=True)

    def move(self, gradient):
        self.delta = self.bound * torch.tanh(self.delta + 0.01 * gradient.sign())


def train_step(model, attack, images):
    weights = list(model.parameters())
    loss = model(images + attack.delta).square().mean()
    toward_delta, *toward_weights = torch.autograd.grad(loss, [attack.delta, *weights])
    with torch.no_grad():
        for weight, gradient in zip(weights, toward_weights):
            weight -= 0.1 * gradient
    attack.move(toward_delta)


def main():
    model = torch.nn.Linear(4096, 4).to("cuda")
    attack = UniversalAttack((64, 4096), bound=0.1)
    for _ in range(16):
        train_step(model, attack, torch.randn(64, 4096, device="cuda"))


main()
