"""A small PyTorch training that keeps a tensor of every step."""
import torch

model = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 256)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
kept = []
for step in range(16):
    batch = torch.randn(512, 256, device="cuda")
    loss = (model(batch) - batch).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    kept.append(batch.clone())  # the leak
print("kept", len(kept))
