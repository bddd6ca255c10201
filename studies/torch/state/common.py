"""Shared by the programs of this folder. Each is a function that ends by reporting the memory it holds, by category.

    python run.py NAME     runs one, and prints the true values as JSON: bytes of GPU storage by category
"""
import json
import os
import sys

import torch

DEV = "cuda"
PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def blocks():
    """The allocator's blocks: address → bytes, which may be more than requested."""
    found = {}
    for segment in torch.cuda.memory_snapshot():
        for block in segment["blocks"]:
            found[block["address"]] = block["size"]
    return found


def storages(things):
    """The addresses of all GPU storage in tensors, lists, dictionaries and modules."""
    found, todo = set(), [things]
    while todo:
        thing = todo.pop()
        if isinstance(thing, torch.Tensor):
            if thing.is_cuda and thing.untyped_storage().nbytes():
                found.add(thing.untyped_storage().data_ptr())
        elif isinstance(thing, torch.nn.Module):
            todo += [*thing.parameters(), *thing.buffers()]
        elif isinstance(thing, dict):
            todo += thing.values()
        elif isinstance(thing, (list, tuple)):
            todo += thing
    return found


def tell(model, optimizer=None, inputs=(), parameters=(), state=(), gradients=()):
    """Prints the category of all GPU storage, and exits."""
    grads = [p.grad for m in (model if isinstance(model, (list, tuple)) else [model]) for p in m.parameters()
             if p.grad is not None]
    optimizers = optimizer if isinstance(optimizer, (list, tuple)) else [optimizer] if optimizer else []
    held = {
        "parameters": storages([model, list(parameters)]),
        "gradients": storages([grads, list(gradients)]),
        "optimizer state": storages([[list(o.state.values()) for o in optimizers], list(state)]),
        "inputs": storages(list(inputs)),
    }
    torch.cuda.synchronize()
    whole = blocks()
    print(json.dumps({name: sum(whole[address] for address in of) for name, of in held.items()}))
    sys.stdout.flush()
    os._exit(0)
