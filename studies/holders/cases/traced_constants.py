# half: second
# kind: c++ python
# names: traced
# bytes: 16777216
"""A function is traced anew for each shape, and what it took from outside becomes constants of the graph, which is C++
(reports on torch.jit.trace in a loop). To change: pass the table as an argument."""
import torch

traced = {}


def trace_for(length):
    table = torch.zeros(length, 1024, device="cuda")

    def shift(batch):
        return batch + table.mean(dim=0)

    return torch.jit.trace(shift, torch.ones(2, 1024, device="cuda"), check_trace=False)


model = torch.nn.Linear(64, 1024).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for length in range(256, 272):
    traced[length] = trace_for(length)
    loss = traced[length](model(torch.randn(2, 64, device="cuda"))).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
