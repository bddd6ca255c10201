# half: first
# kind: autograd
# names: hidden
# bytes: 16777216
"""The hidden state of a recurrent cell goes from batch to batch with its history (pytorch#1887, and the tutorial's
repackage_hidden exists for it). To change: hidden = hidden.detach() at each step."""
import torch

cell = torch.nn.Linear(1024, 1024).to("cuda")
head = torch.nn.Linear(1024, 4).to("cuda")
optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
hidden = torch.zeros(256, 1024, device="cuda")
for step in range(16):
    hidden = torch.tanh(cell(hidden))
    loss = head(hidden.detach()).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
