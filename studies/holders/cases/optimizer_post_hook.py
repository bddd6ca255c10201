# half: fourth
# kind: python
# names: flat GradientArchive
# or: flat optimizer
# or: flat after_step
# bytes: 16777216
"""A study of gradient noise registers a hook that an optimizer calls after each step, and the hook stores all gradients
as one vector; just the optimizer knows the object that has them (questions on keeping gradients over a training). To
change: keep the mean and the variance, updated in place."""
import torch


class GradientArchive:
    def __init__(self):
        self.flat = []

    def after_step(self, optimizer, arguments, options):
        weights = [weight for group in optimizer.param_groups for weight in group["params"]]
        self.flat.append(torch.cat([weight.grad.flatten() for weight in weights]))


def make_optimizer(model, with_archive):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    if with_archive:
        optimizer.register_step_post_hook(GradientArchive().after_step)
    return optimizer


model = torch.nn.Linear(256, 1024).to("cuda")
optimizer = make_optimizer(model, with_archive=True)
for step in range(16):
    optimizer.zero_grad()
    model(torch.randn(8, 256, device="cuda")).square().mean().backward()
    optimizer.step()
