# half: fourth
# kind: c++ python autograd
# names: duals
# bytes: 16777216
"""Training by forward derivatives gives the weight a random direction at each step; the dual tensors are kept for a
study and look like views of one weight, but C++ has the direction of each, as long as the level of forward derivatives
is open (questions on forward_ad.enter_dual_level). To change: `with dual_level()` for each step, or keep no duals."""
import torch
import torch.autograd.forward_ad as forward_ad


class ForwardTrainer:
    def __init__(self):
        self.weight = torch.randn(256, 1024, device="cuda")
        self.duals = []
        forward_ad.enter_dual_level()

    def step(self, batch):
        direction = torch.randn_like(self.weight)
        dual = forward_ad.make_dual(self.weight, direction)
        loss = (batch @ dual).square().mean()
        slope = forward_ad.unpack_dual(loss).tangent
        self.weight.sub_(0.01 * slope * direction)
        self.duals.append(dual)


trainer = ForwardTrainer()
for step in range(16):
    trainer.step(torch.randn(8, 256, device="cuda"))
