# half: sixth
# kind: python
# names: graphs
# bytes: 16777216
"""A model is traced by torch.fx once for each length, and run once by an interpreter that notes the result of each node
at the node, for a table of shapes; the traced models are kept by length, with what was noted (reports on node.meta that
holds tensors). To change: note result.shape, or delete the notes when the table was made."""
import torch


class ShapeNotes(torch.fx.Interpreter):
    def run_node(self, node):
        result = super().run_node(node)
        node.meta["example"] = result
        return result


graphs = {}


def graph_for(model, batch):
    length = batch.shape[0]
    if length not in graphs:
        graphs[length] = torch.fx.symbolic_trace(model)
        with torch.no_grad():
            ShapeNotes(graphs[length]).run(batch)
    return graphs[length]


def train(model, optimizer):
    for length in range(250, 266):
        batch = torch.randn(length, 64, device="cuda")
        optimizer.zero_grad()
        graph_for(model, batch)(batch).square().mean().backward()
        optimizer.step()


model = torch.nn.Sequential(torch.nn.Linear(64, 1024)).to("cuda")
train(model, torch.optim.SGD(model.parameters(), lr=0.1))
