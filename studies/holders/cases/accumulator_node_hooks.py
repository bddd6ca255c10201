# half: second
# kind: python
# names: buckets reducer
# or: buckets Reducer
# bytes: 16777216
"""A reducer in the manner of DDP hooks the nodes that accumulate gradients and fills buckets that it never empties. To
change: clear the buckets after each step."""
import torch


class Reducer:
    def __init__(self, parameters):
        self.buckets = {}
        self.nodes = []
        for number, parameter in enumerate(parameters):
            node = parameter.expand_as(parameter).grad_fn.next_functions[0][0]
            node.register_hook(self.make_hook(number, parameter))
            self.nodes.append(node)

    def make_hook(self, number, parameter):
        def ready(*unused):
            self.buckets.setdefault(number, []).append(parameter.grad.clone())
        return ready


def main():
    model = torch.nn.Linear(1024, 256).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    reducer = Reducer(model.parameters())
    for _ in range(16):
        loss = model(torch.randn(16, 1024, device="cuda")).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return len(reducer.buckets)


main()
