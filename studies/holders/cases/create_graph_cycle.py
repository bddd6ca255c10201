# half: first
# kind: cycle autograd c++
# names: grad
# bytes: 33554432
"""backward(create_graph=True) gives each parameter a grad whose graph holds the parameter again, in C++; the tasks'
weights never go (pytorch#4661, pytorch#7343). To change: torch.autograd.grad, or set grad to None afterwards."""
import torch


def solve_task():
    weights = torch.randn(1024, 128, device="cuda", requires_grad=True)
    loss = torch.exp(weights).mean()
    loss.backward(create_graph=True)
    return weights.grad.shape[0]


model = torch.nn.Linear(64, 16).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(16):
    solve_task()
    optimizer.zero_grad()
    model(torch.randn(8, 64, device="cuda")).square().mean().backward()
    optimizer.step()
