# half: fifth
# kind: c++ python
# names: table
# or: kernel
# or: library
# bytes: 16777216
"""For each length of a text an operator is defined in a torch.library, and its kernel is a function with a table of
positions in its closure; the dispatcher in C++ has the function as long as the library lives, which is to the end
(questions on custom operators that are registered in a loop). To change: one operator that is given the table."""
import torch

library = torch.library.Library("positions", "DEF")


def define_shift(length):
    table = torch.randn(length, 1024, device="cuda")

    def kernel(x):
        return x + table[: len(x)]

    library.define(f"shift_{length}(Tensor x) -> Tensor")
    library.impl(f"shift_{length}", kernel, "CompositeImplicitAutograd")
    return getattr(torch.ops.positions, f"shift_{length}")


def train_step(length, model, optimizer):
    shift = define_shift(length)
    optimizer.zero_grad()
    shift(model(torch.randn(32, 64, device="cuda"))).square().mean().backward()
    optimizer.step()


model = torch.nn.Linear(64, 1024).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for length in range(248, 264):
    train_step(length, model, optimizer)
