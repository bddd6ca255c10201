# half: first
# kind: python
# names: optimizer
# bytes: 12582912
"""For each new class the head is replaced and the new one added with add_param_group; old heads, with their momentum,
stay in param_groups (continual learning; Megatron-LM#662 asks how to get rid of them). To change: a new optimizer."""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(16, 1024)
        self.head = None

    def forward(self, batch):
        return self.head(self.body(batch))


model = Model().to("cuda")
optimizer = torch.optim.SGD(model.body.parameters(), lr=0.1, momentum=0.9)
for task in range(12):
    model.head = torch.nn.Linear(1024, 128, device="cuda")
    optimizer.add_param_group({"params": list(model.head.parameters())})
    loss = model(torch.randn(8, 16, device="cuda")).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
