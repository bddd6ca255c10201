# half: sixth
# kind: python
# names: held_back print_or_hold
# or: held_back print
# or: held_back print_on_first_rank
# bytes: 16777216
"""In training on several GPUs only the first process prints, so print() itself is replaced; the other processes hold
back what they were told, for a moment that never comes. Only builtins has the new print (the helper of DETR that many
programs copied, and reports on memory that grows on all ranks but the first). To change: print nothing, or hold back
str(value)."""
import builtins

import torch


def print_on_first_rank(rank):
    first_print = builtins.print
    held_back = []

    def print_or_hold(*values, force=False, **options):
        if rank == 0 or force:
            first_print(*values, **options)
        else:
            held_back.append((values, options))

    builtins.print = print_or_hold


def train(steps):
    model = torch.nn.Linear(64, 1024).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(steps):
        output = model(torch.randn(256, 64, device="cuda"))
        optimizer.zero_grad()
        output.square().mean().backward()
        optimizer.step()
        print("step", step, output.detach(), end="\n\n")


print_on_first_rank(rank=1)
train(16)
