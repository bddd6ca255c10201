# half: second
# kind: autograd
# names: fast
# bytes: 16777216
"""Meta-learning keeps updating the fast weights of the inner loop and never starts them from the slow weights again,
so the graph of all inner steps grows (reports on MAML and torchopt#113). To change: detach at each outer step."""
import torch


def adapt(fast, batch):
    loss = torch.exp(batch @ fast).mean()
    gradient, = torch.autograd.grad(loss, fast, create_graph=True)
    return fast - 0.1 * gradient


def meta_train():
    slow = torch.nn.Linear(512, 1024).to("cuda")
    optimizer = torch.optim.SGD(slow.parameters(), lr=0.1)
    fast = torch.randn(1024, 8, device="cuda", requires_grad=True)
    for _ in range(16):
        fast = adapt(fast, torch.randn(256, 1024, device="cuda"))
        optimizer.zero_grad()
        slow(torch.randn(4, 512, device="cuda")).mean().backward()
        optimizer.step()


meta_train()
