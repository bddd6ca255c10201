# half: first
# kind: python
# names: trace model
# bytes: 16777216
"""Each step registers one more buffer, under a name with a number, so that "it is saved with the model". To change:
overwrite one buffer, persistent=False does not help."""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(64, 1024)
        self.trace = torch.nn.Module()
        self.calls = 0

    def forward(self, batch):
        output = self.layer(batch)
        self.trace.register_buffer(f"output_{self.calls}", output.detach())
        self.calls += 1
        return output


model = Model().to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(16):
    loss = model(torch.randn(256, 64, device="cuda")).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
