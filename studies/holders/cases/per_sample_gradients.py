# half: seventh
# kind: python
# names: grad_sample
# bytes: 25165824
"""Training with privacy needs the gradient of each sample, which hooks put onto the parameter; when a second backward
pass comes they make a list of it. The optimizer was made before and is a plain one, whose zero_grad() knows nothing of
this attribute (as in Opacus, where the optimizer must be the one that was made private). To change: del
parameter.grad_sample after each step."""
import time

import torch


def remember_input(layer, inputs, output):
    layer.inputs = inputs[0].detach()


def add_sample_gradients(layer, grad_input, grad_output):
    samples = grad_output[0][:, :, None] * layer.inputs[:, None, :]
    del layer.inputs
    if hasattr(layer.weight, "grad_sample"):
        layer.weight.grad_sample.append(samples)
    else:
        layer.weight.grad_sample = [samples]


def make_private(model):
    for layer in model.modules():
        if isinstance(layer, torch.nn.Linear):
            layer.register_forward_hook(remember_input)
            layer.register_full_backward_hook(add_sample_gradients)
    return model


def clipped_mean(parameter, bound):
    samples = parameter.grad_sample[-1]
    norms = samples.flatten(1).norm(dim=1)
    return (samples * (bound / (norms + 1e-6)).clamp(max=1)[:, None, None]).mean(dim=0)


def main():
    network = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Tanh()).to("cuda")
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    network = make_private(network)
    for _ in range(24):
        optimizer.zero_grad()
        network(torch.randn(64, 64, device="cuda")).square().mean().backward()
        network[0].weight.grad = clipped_mean(network[0].weight, bound=1.0)
        optimizer.step()
        time.sleep(0.03)  # stands for the time of the kernels


main()
