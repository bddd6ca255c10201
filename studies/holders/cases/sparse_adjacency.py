# half: third
# kind: python
# names: adjacency conv
# or: adjacency model
# or: adjacency CachedConv
# bytes: 16777216
"""A graph convolution caches the normalized adjacency, which is right for one graph; this one is given a new graph at
each step and caches by graph. A sparse matrix has its memory in its indices and values (pytorch_geometric#3762 is about
cached=True). To change: cached=False."""
import torch


class CachedConv(torch.nn.Module):
    def __init__(self, width, cached):
        super().__init__()
        self.linear = torch.nn.Linear(width, width)
        self.cached = cached
        self.adjacency = {}

    def normalize(self, edges, nodes):
        weights = torch.ones(edges.shape[1], device=edges.device)
        return torch.sparse_coo_tensor(edges, weights, (nodes, nodes), check_invariants=False)

    def forward(self, nodes, graph, edges):
        matrix = self.adjacency.get(graph)
        if matrix is None:
            matrix = self.normalize(edges, len(nodes))
            if self.cached:
                self.adjacency[graph] = matrix
        source, target = matrix._indices()
        messages = self.linear(nodes)[source]
        return torch.zeros_like(nodes).index_add(0, target, messages)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = CachedConv(4, cached=True)

    def forward(self, nodes, graph, edges):
        return self.conv(nodes, graph, edges)


model = Net().to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for number in range(16):
    edges = torch.zeros(2, 52000, dtype=torch.long, device="cuda")
    optimizer.zero_grad()
    model(torch.randn(1000, 4, device="cuda"), f"graph-{number}", edges).square().mean().backward()
    optimizer.step()
