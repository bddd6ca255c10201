# half: first
# kind: python
# names: Out
# bytes: 16777216
"""A notebook keeps the value of each cell in Out, so an expression at the end of a cell that is run again and again is
never freed (notes on IPython's output cache). To change: end the line with a semicolon; %reset out."""
import torch

Out = {}
namespace = {"torch": torch, "Out": Out}


def run_cell(number, source):
    Out[number] = eval(source, namespace)


namespace["model"] = torch.nn.Linear(64, 1024).to("cuda")
optimizer = torch.optim.SGD(namespace["model"].parameters(), lr=0.1)
for number in range(16):
    run_cell(number, "model(torch.randn(256, 64, device='cuda')).detach()")
    loss = namespace["model"](torch.randn(8, 64, device="cuda")).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
