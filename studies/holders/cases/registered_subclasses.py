# half: sixth
# kind: python
# names: delta registry
# or: registry Adapter
# bytes: 16777216
"""An adapter is a class, so that it can be chosen by name, and subclasses register themselves when they are made; each
task makes one with type(), whose delta is an attribute of the class, and classes do not go (questions on
__init_subclass__ and plugins). To change: instances of one class, or del Adapter.registry[name] after the task."""
import torch


class Adapter:
    registry = {}
    delta = None

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        Adapter.registry[cls.__name__] = cls

    @classmethod
    def apply(cls, base, batch):
        return base(batch) + batch @ cls.delta


def train_adapter(base, task):
    delta = torch.zeros(256, 1024, device="cuda", requires_grad=True)
    optimizer = torch.optim.SGD([delta], lr=0.1)
    adapter = type(f"Adapter{task}", (Adapter,), {"delta": delta})
    adapter.apply(base, torch.randn(16, 256, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    return adapter.__name__


def main():
    base = torch.nn.Linear(256, 1024).to("cuda").requires_grad_(False)
    return [train_adapter(base, task) for task in range(16)]


main()
