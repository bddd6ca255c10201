# half: first
# kind: python
# names: predictions metrics
# bytes: 16777216
"""A metric keeps every batch of logits on the GPU until compute(), which nobody calls (transformers#7232,
torchmetrics#3294). To change: count instead of keeping, or move the predictions to the CPU."""
import torch


class Accuracy:
    def __init__(self):
        self.predictions = []
        self.samples = 0

    def update(self, logits):
        self.predictions.append(logits.detach())
        self.samples += len(logits)


model = torch.nn.Linear(64, 1024).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
metrics = Accuracy()
for step in range(16):
    logits = model(torch.randn(256, 64, device="cuda"))
    loss = logits.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    metrics.update(logits)
