# half: second
# kind: cycle autograd c++
# names: normalized
# bytes: 16777216
"""A custom Function stores its own output on ctx: the output holds its node, the node ctx, and ctx the output, and no
collector sees the way through C++ (pytorch#25340, pytorch#5569). To change: save_for_backward."""
import torch


class Normalize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, values):
        ctx.normalized = values - values.mean()
        return ctx.normalized

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.normalized.mean()


model = torch.nn.Linear(64, 1024).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(16):
    loss = Normalize.apply(model(torch.randn(256, 64, device="cuda"))).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
