#!/usr/bin/env python3
"""Some steps of a training of a real model with random weights, as it is or with changes that `memprof advise` knows;
prints for each change what PyTorch's allocator held at most, as a line of JSON.

    train.py --model transformers/gpt2 --batch 8 [--optimizer adam] [--change checkpointing=GPT2Block --change ...]

The models, images and texts are those of ../footprint/train.py."""
import argparse
import functools
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "footprint"))
import train as models  # noqa: E402

STEPS = 3


def make_optimizer(name, parameters, fused):
    import torch
    options = {"lr": 1e-3, **({"fused": True} if fused else {})}
    if name == "sgd":
        return torch.optim.SGD(parameters, momentum=0.9, weight_decay=1e-4, **options)
    return {"adamw": torch.optim.AdamW, "adam": torch.optim.Adam}[name](parameters, **options)


class Quantised:
    """What bitsandbytes.optim.AdamW8bit holds: per number a byte and per 256 numbers a scale, for each of the moments."""
    def __init__(self, parameters):
        self.parameters, self.state = list(parameters), {}

    def step(self):
        import torch
        for parameter in self.parameters:
            if parameter.grad is None or parameter in self.state:
                continue
            count = parameter.numel()
            self.state[parameter] = [
                tensor for _ in range(2) for tensor in (
                    [torch.zeros_like(parameter, dtype=torch.uint8),
                     torch.zeros((count + 255) // 256, device=parameter.device)]
                    if count >= 4096 else [torch.zeros_like(parameter)])]

    def zero_grad(self, set_to_none=True):
        for parameter in self.parameters if set_to_none else ():
            parameter.grad = None


class OnHost:
    """An optimizer whose parameters and state are on the host."""
    def __init__(self, make, parameters):
        self.parameters = list(parameters)
        self.copies = [parameter.detach().cpu() for parameter in self.parameters]
        self.inner = make(self.copies)

    def step(self):
        for parameter, copy in zip(self.parameters, self.copies):
            copy.grad = None if parameter.grad is None else parameter.grad.cpu()
        self.inner.step()
        for parameter, copy in zip(self.parameters, self.copies):
            parameter.data.copy_(copy)

    def zero_grad(self, set_to_none=True):
        for parameter in self.parameters if set_to_none else ():
            parameter.grad = None


def checkpoint_modules(model, name):
    """Every module whose forward() is that of the class `name` runs again in the backward pass."""
    from torch.utils.checkpoint import checkpoint
    if hasattr(model, "gradient_checkpointing_enable") and name.endswith(("Block", "Layer")):
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        return
    found = 0
    for module in model.modules():
        if type(module).forward.__qualname__ == f"{name}.forward" or type(module).__name__ == name:
            module.forward = functools.partial(checkpoint, module.forward, use_reentrant=False)
            found += 1
    assert found, name


def chunked_texts(model, batch, device):
    """As texts(), with the head and the loss in one: PyTorch's linear_cross_entropy in pieces."""
    import torch
    head = model.get_output_embeddings()
    options = torch.nn.LinearCrossEntropyOptions()
    while True:
        tokens = torch.zeros(batch, models.TOKENS, dtype=torch.long).to(device)
        hidden = model.base_model(input_ids=tokens, attention_mask=torch.ones_like(tokens))[0]
        if hasattr(model, "cls"):  # BERT has a layer before the head
            hidden = model.cls.predictions.transform(hidden)
        yield torch.nn.functional.linear_cross_entropy(
            hidden.flatten(0, 1), head.weight, tokens.flatten(), linear_bias=head.bias, options=options)


def train(arguments, change):
    """Trains, and returns what the allocator held at most."""
    import torch
    change, _, subject = change.partition("=")
    device = torch.device("cuda")
    library, name = arguments.model.split("/")
    model = models.text_model(name) if library == "transformers" else models.vision_model(library, name)
    model = model.to(device).train()
    if library == "transformers":
        model.config.use_cache = False  # as its Trainer does
    make = functools.partial(make_optimizer, arguments.optimizer, fused=change == "fused-step")
    if change == "small-state":
        optimizer = Quantised(model.parameters())
    elif change == "host-state":
        optimizer = OnHost(make, model.parameters())
    else:
        optimizer = make(model.parameters())
    if change == "checkpointing":
        checkpoint_modules(model, subject)
    parts = 2 if change == "small-batches" else 1
    source = models.images if library != "transformers" else chunked_texts if change == "chunked-loss" else models.texts
    losses = source(model, arguments.batch // parts, device)
    for _ in range(STEPS):
        for _ in range(parts):
            (next(losses) / parts).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=not arguments.keep_gradients or change == "freed-gradients")
    torch.cuda.synchronize()
    statistics = torch.cuda.memory_stats()
    return {kind: statistics[f"{kind}_bytes.all.peak"] for kind in ("reserved", "allocated")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--optimizer", choices=("adamw", "adam", "sgd"), default="adamw")
    parser.add_argument("--keep-gradients", action="store_true", help="zero_grad(set_to_none=False)")
    parser.add_argument("--change", action="append", help="CHANGE or CHANGE=MODULE; several may be given")
    arguments = parser.parse_args()
    import torch  # noqa: F401  once for all
    if arguments.model.startswith("transformers"):
        import transformers  # noqa: F401
    changes = arguments.change or [""]
    for change in changes:
        child = os.fork() if len(changes) > 1 else 0  # a device of its own
        if child == 0:
            print(json.dumps({"change": change, **train(arguments, change)}), flush=True)
            if len(changes) > 1:
                os._exit(0)
        elif os.waitpid(child, 0)[1] != 0:
            print(json.dumps({"change": change, "failed": True}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
