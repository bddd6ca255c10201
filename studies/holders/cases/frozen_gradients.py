# half: second
# kind: python
# names: grad teacher
# bytes: 33554432
"""The teacher of a distillation is in no optimizer, so nobody sets its gradients to None: they are as large as the
teacher, to the end (forum questions on frozen layers). Does not grow. To change: requires_grad_(False)."""
import torch

teacher = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.Tanh(), torch.nn.Linear(4096, 16)).to("cuda")
student = torch.nn.Linear(1024, 16).to("cuda")
optimizer = torch.optim.SGD(student.parameters(), lr=0.1)


def summary(module):
    return sum(parameter.grad is not None for parameter in module.parameters())


for step in range(16):
    batch = torch.randn(8, 1024, device="cuda")
    loss = (student(batch) - teacher(batch)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    summary(teacher)
