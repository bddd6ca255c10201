# half: fifth
# kind: python
# names: parents
# bytes: 16777216
"""For a study of where numbers come from, a subclass of Tensor notes the parents of each result; a running total of the
scores, detached as it should be, has a chain of parents down to the features of the first step (questions on
__torch_function__ that records). To change: weak references in `parents`, or take the subclass off before the sum."""
import torch


class Traced(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        result = super().__torch_function__(function, types, args, kwargs or {})
        if isinstance(result, Traced):
            result.parents = [argument for argument in args if isinstance(argument, Traced)]
        return result


def main():
    model = torch.nn.Linear(64, 1024).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    total = torch.zeros((), device="cuda").as_subclass(Traced)
    for step in range(16):
        features = model(torch.randn(256, 64, device="cuda"))
        optimizer.zero_grad()
        features.square().mean().backward()
        optimizer.step()
        total = total + features.detach().as_subclass(Traced).mean()
    return total


main()
