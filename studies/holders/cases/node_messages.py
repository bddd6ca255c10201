# half: sixth
# kind: python
# names: latest memory
# or: latest NodeMemory
# bytes: 16777216
"""A network on a graph that changes keeps the last message of each node until the node is seen again; a message is a
row of the batch of events, and so a view that keeps the batch, and nodes come once (pytorch_geometric#9395 is about
such a store, and reports on TGN). To change: messages[place].clone(), or a table of the nodes."""
import torch


class NodeMemory(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = torch.nn.Linear(64, 1024)
        self.latest = {}

    def forward(self, events):
        return self.encode(events)

    def update(self, nodes, time, messages):
        for place, node in enumerate(nodes):
            self.latest[node] = (time, messages[place])


def main():
    memory = NodeMemory().to("cuda")
    optimizer = torch.optim.SGD(memory.parameters(), lr=0.1)
    for step in range(16):
        messages = memory(torch.randn(256, 64, device="cuda"))
        optimizer.zero_grad()
        messages.square().mean().backward()
        optimizer.step()
        memory.update(range(4 * step, 4 * step + 4), step, messages.detach())


main()
