# half: fifth
# kind: autograd
# names: running_variance
# bytes: 16777216
"""A normalization between the layers of a flow keeps a running variance as a buffer and changes it in place, outside
no_grad(); the variance of a batch has a derivative, so the buffer has the batches of all steps (nflows#10,
pytorch#20275). To change: no_grad() around the update, or variance.detach()."""
import torch


class BatchNormalization(torch.nn.Module):
    def __init__(self, features, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("running_variance", torch.ones(features))

    def forward(self, x):
        variance = x.var(0)
        self.running_variance.mul_(1 - self.momentum).add_(variance * self.momentum)
        return x / (variance.detach() + 1e-5).sqrt()


class Flow(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Linear(64, 1024)
        self.between = BatchNormalization(1024)

    def forward(self, x):
        return self.between(self.scale(x))


def train(steps):
    flow = Flow().to("cuda")
    optimizer = torch.optim.SGD(flow.parameters(), lr=0.1)
    for step in range(steps):
        loss = flow(torch.randn(256, 64, device="cuda")).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


train(16)
