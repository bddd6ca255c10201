# half: fourth
# kind: autograd python
# names: roots
# bytes: 16777216
"""To draw how the network changes, the node where a dry run ended is kept for each step, and no tensor at all; a node
of the graph keeps all nodes before it, and these what they saved (questions on tools that draw graphs from grad_fn). To
change: draw at once, and keep the text."""
import torch


class Drawing:
    def __init__(self):
        self.roots = {}

    def look(self, step, model):
        self.roots[step] = model(torch.randn(256, 64, device="cuda")).mean().grad_fn

    def names(self, step):
        names, waiting = [], [self.roots[step]]
        while waiting:
            node = waiting.pop()
            names.append(node.name())
            waiting += [before for before, _ in node.next_functions if before]
        return names


drawing = Drawing()
model = torch.nn.Sequential(torch.nn.Linear(64, 1024), torch.nn.Sigmoid(), torch.nn.Linear(1024, 1)).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(16):
    drawing.look(step, model)
    optimizer.zero_grad()
    model(torch.randn(8, 64, device="cuda")).square().mean().backward()
    optimizer.step()
