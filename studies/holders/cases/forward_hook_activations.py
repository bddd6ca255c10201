# half: first
# kind: python
# names: activations
# bytes: 16777216
"""A forward hook collects the output of a layer, by layer, and nothing takes the outputs out again (opacus#176,
utkuozbulak/pytorch-cnn-visualizations#53). To change: overwrite instead of append, or remove the hook."""
import torch

activations = {"first": [], "second": []}


def collect(name):
    def hook(module, inputs, output):
        activations[name].append(output.detach())
    return hook


model = torch.nn.Sequential(torch.nn.Linear(64, 1024), torch.nn.Linear(1024, 4)).to("cuda")
model[0].register_forward_hook(collect("first"))
model[1].register_forward_hook(collect("second"))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(16):
    loss = model(torch.randn(256, 64, device="cuda")).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
