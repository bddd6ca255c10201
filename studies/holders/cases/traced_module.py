# half: first
# kind: c++ python
# names: exported
# bytes: 16777216
"""A snapshot of the model is traced for export after every step and listed; the copy of the weights is in the traced
module. To change: export at the end, or to a file."""
import copy

import torch


def export(model):
    frozen = torch.jit.trace(copy.deepcopy(model).eval(), torch.ones(2, 1024, device="cuda"), check_trace=False)
    return torch.jit.freeze(frozen)


exported = []
model = torch.nn.Linear(1024, 256).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(16):
    loss = model(torch.randn(8, 1024, device="cuda")).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    exported.append(export(model))
