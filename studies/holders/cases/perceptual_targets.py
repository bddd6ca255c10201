# half: first
# kind: autograd
# names: style_targets
# bytes: 12582912
"""Targets of a style loss are computed once for each image without no_grad(), and keep the graph of the network that
made them (questions on the neural style tutorial). To change: detach() the targets."""
import torch

network = torch.nn.Sequential(torch.nn.Linear(64, 1024), torch.nn.Sigmoid(), torch.nn.Linear(1024, 4)).to("cuda")
optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
style_targets = {}


def target_of(image_number):
    if image_number not in style_targets:
        style_targets[image_number] = network(torch.randn(256, 64, device="cuda")).mean(dim=0)
    return style_targets[image_number].detach()


for step in range(12):
    difference = network(torch.randn(8, 64, device="cuda")) - target_of(step)
    optimizer.zero_grad()
    difference.square().mean().backward()
    optimizer.step()
