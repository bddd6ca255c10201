# half: first
# kind: autograd
# names: total
# bytes: 16777216
"""The loss of validation is summed as a tensor that still has its graph, so the activations of all batches stay until
the sum goes (the FAQ of PyTorch, and very many forum posts). To change: total += loss.item(), or no_grad()."""
import torch

model = torch.nn.Linear(64, 1024).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
total = torch.zeros((), device="cuda")
for step in range(16):
    loss = model(torch.randn(8, 64, device="cuda")).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    validation_loss = model(torch.randn(256, 64, device="cuda")).square().mean()
    total += validation_loss
