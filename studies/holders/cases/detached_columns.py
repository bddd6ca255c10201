# half: second
# kind: python
# names: scores board
# bytes: 16777216
"""One detached column of each output is kept, and detach() shares the storage of the output with all its columns. The
list looks small. To change: output[:, 0].detach().clone()."""
import torch


class Board:
    def __init__(self):
        self.scores = {"train": []}

    def write(self, column):
        self.scores["train"].append(column)


board = Board()
model = torch.nn.Linear(64, 1024).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(16):
    output = model(torch.randn(256, 64, device="cuda"))
    optimizer.zero_grad()
    output.square().mean().backward()
    optimizer.step()
    board.write(output.detach()[:, 0].unsqueeze(1))
