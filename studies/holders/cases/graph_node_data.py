# half: seventh
# kind: python
# names: ndata dataset
# or: ndata Graph
# or: ndata MoleculeDataset
# bytes: 25165824
"""A layer for graphs writes what it computes to the data of the nodes, where message passing finds it; the graph
belongs to the data set, so what a layer wrote stays for as long as the data set (dgl#637, and local_scope() of DGL is
there for it). To change: pop the field at the end of forward(), or work on a shallow copy of the graph."""
import time

import torch


class Graph:
    def __init__(self, nodes):
        self.nodes = nodes
        self.ndata = {"x": torch.zeros(nodes, 16, device="cuda")}

    def update_all(self, source, target):
        self.ndata[target] = self.ndata[source] + self.ndata[source].mean(dim=0, keepdim=True)


class MoleculeDataset:
    def __init__(self, count):
        self.graphs = [Graph(256) for _ in range(count)]

    def __len__(self):
        return len(self.graphs)

    def __getitem__(self, index):
        return self.graphs[index]


class GraphConv(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(16, 512)

    def forward(self, graph):
        graph.ndata["h"] = self.linear(graph.ndata["x"])
        graph.update_all("h", "out")
        return graph.ndata["out"]


def train(dataset, conv, optimizer):
    for index in range(len(dataset)):
        optimizer.zero_grad()
        conv(dataset[index]).square().mean().backward()
        optimizer.step()
        time.sleep(0.03)  # stands for the time of the kernels


dataset = MoleculeDataset(24)
conv = GraphConv().to("cuda")
train(dataset, conv, torch.optim.Adam(conv.parameters()))
