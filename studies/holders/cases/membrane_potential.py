# half: fourth
# kind: autograd
# names: v LIFNode
# or: v neurons
# or: v net
# bytes: 25165824
"""Spiking neurons carry their potential from one call to the next, as an attribute; the firing rate is measured after
each step of training without no_grad() and without a reset of the net, so the potential has the graph of all
measurements (spikingjelly#29, spikingjelly#514). To change: no_grad() in firing_rate, or reset the neurons."""
import torch


class Spike(torch.autograd.Function):
    @staticmethod
    def forward(ctx, potential):
        ctx.save_for_backward(potential)
        return (potential > 0).to(potential.dtype)

    @staticmethod
    def backward(ctx, gradient):
        (potential,) = ctx.saved_tensors
        return gradient / (1 + potential.square())


class LIFNode(torch.nn.Module):
    def __init__(self, tau):
        super().__init__()
        self.tau = tau
        self.v = 0.0

    def forward(self, current):
        self.v = self.v + (current - self.v) / self.tau
        spikes = Spike.apply(self.v - 1.0)
        self.v = self.v * (1.0 - spikes)
        return spikes

    def reset(self):
        self.v = 0.0


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.synapses = torch.nn.Linear(64, 1024)
        self.neurons = LIFNode(tau=2.0)

    def forward(self, images):
        return self.neurons(self.synapses(images))


def firing_rate(net):
    return net(torch.randn(128, 64, device="cuda")).mean().detach()


net = Net().to("cuda")
decoder = torch.nn.Linear(64, 4).to("cuda")
optimizer = torch.optim.SGD(decoder.parameters(), lr=0.1)
for step in range(16):
    optimizer.zero_grad()
    decoder(torch.randn(8, 64, device="cuda")).square().mean().backward()
    optimizer.step()
    firing_rate(net)
