# record: --sim=memory=1GiB
"""Logits for a large vocabulary at every place of the text, of which the last is used."""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(64, 64)
        self.head = torch.nn.Linear(64, 50_000)

    def forward(self, text):
        hidden = torch.tanh(self.body(text))
        logits = self.head(hidden)  # HERE
        return logits[:, -1]


model = Model().to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for length in (64, 128, 256, 2048):
    model(torch.randn(4, length, 64, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
