# half: second
# kind: python
# names: reference model
# or: reference compare_with
# bytes: 16777216
"""A hook is registered at every step and its handle thrown away; the module keeps all hooks, and each hook keeps the
reference batch of its step in its closure (questions on register_forward_hook in loops). To change: handle.remove()."""
import torch


def compare_with(reference):
    def distance(module, inputs, output):
        module.distance = float((output - reference).shape[0])
    return distance


def fit(model, optimizer):
    for _ in range(16):
        reference = torch.randn(256, 1024, device="cuda")
        model.register_forward_hook(compare_with(reference))
        loss = model(torch.randn(256, 64, device="cuda")).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


model = torch.nn.Linear(64, 1024).to("cuda")
fit(model, torch.optim.SGD(model.parameters(), lr=0.1))
