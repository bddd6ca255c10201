"""Programs that do not know the agent of `memprof run --torch`, and use modules, optimizers and autograd graphs as
training scripts do. Each prints one line of JSON with the expected results.

usage: python agent_guest.py SCENARIO"""
import copy
import io
import json
import os
import pickle
import sys

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        return x + self.mlp(self.norm(x))


class Net(nn.Module):
    def __init__(self, width=256, depth=2):
        super().__init__()
        self.places = nn.Parameter(torch.zeros(width))  # a name without meaning
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.register_buffer("mask", torch.ones(width, width))
        self.kept = []
        self.keep = False

    def forward(self, x):
        x = x @ self.mask + self.places
        for block in self.blocks:
            x = block(x)
        if self.keep:
            with torch.no_grad():
                self.kept.append(self.blocks[1].norm(x))
        return x


def batch(rows=512, width=256):
    return torch.randn(rows, width, device="cuda")


def train(model, optimizer, steps=4, loss_of=None):
    for _ in range(steps):
        result = model(batch())
        loss = (loss_of or torch.Tensor.sum)(result)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def names():
    """State of every kind, then a model that is copied, pickled and saved in the middle of training."""
    setup = [torch.empty(1 << 20, device="cuda") for _ in range(3)]
    model = Net().cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    train(model, optimizer)
    other = copy.deepcopy(model)
    assert [name for name, _ in other.named_parameters()] == [name for name, _ in model.named_parameters()]
    text = pickle.dumps(model)
    assert b"memprof" not in text
    pickle.loads(text)
    file = io.BytesIO()
    torch.save(model, file)
    torch.save(optimizer.state_dict(), file)
    assert b"memprof" not in file.getvalue()
    assert not model._forward_hooks and not model._forward_pre_hooks and not model._backward_hooks
    del setup
    return {"parameters": {name: list(tensor.shape) for name, tensor in model.named_parameters()},
            "buffers": {name: list(tensor.shape) for name, tensor in model.named_buffers()},
            "parameter_bytes": sum(t.numel() * t.element_size() for t in
                                   [*model.parameters(), *model.buffers()]),
            "steps": 4}


def leak():
    """A module keeps the output of one of its parts."""
    model = Net().cuda()
    model.keep = True
    train(model, torch.optim.SGD(model.parameters(), lr=0.1), steps=24)
    return {"steps": 24}


def gan():
    generator, judge = Net().cuda(), Net().cuda()
    first = torch.optim.Adam(generator.parameters())
    second = torch.optim.Adam(judge.parameters())
    for _ in range(6):
        made = generator(batch())
        second.zero_grad()
        (judge(batch()).sum() - judge(made.detach()).sum()).backward()
        second.step()
        first.zero_grad()
        judge(made).sum().backward()
        first.step()
    return {"steps": 7}  # the first iteration counts as two steps


def failing():
    """Errors in forward, in backward and in the optimizer, which the program catches."""
    model = Net().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    failures = []

    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            raise RuntimeError("mine")

    for attempt in range(6):
        try:
            if attempt == 1:
                model.blocks[1].mlp[2](batch(width=3))
            if attempt == 2:
                model(batch(width=3))
            result = model(batch())
            loss = Fails.apply(result).sum() if attempt == 3 else result.sum()
            optimizer.zero_grad()
            loss.backward()
            if attempt == 4:
                torch.empty(1 << 40, device="cuda")
            if attempt == 5:
                optimizer.step(lambda: 1 // 0)
            optimizer.step()
        except (RuntimeError, ZeroDivisionError) as error:
            failures.append(type(error).__name__)
    train(model, optimizer, 2)
    assert len(failures) == 5, failures
    return {"failures": failures}


def checkpointed():
    model = Net().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for reentrant in (False, True):
        for _ in range(3):
            x = batch().requires_grad_()
            for block in model.blocks:
                x = checkpoint(block, x, use_reentrant=reentrant)
            optimizer.zero_grad()
            x.sum().backward()
            optimizer.step()
    return {}


def compiled():
    """A compiled model must stay one graph."""
    model = Net().cuda()
    fast = torch.compile(model, backend="aot_eager", fullgraph=True)
    train(fast, torch.optim.SGD(model.parameters(), lr=0.1))
    return {"parameters": sorted(name for name, _ in model.named_parameters())}


def traced():
    model = Net().cuda().eval()
    graph = torch.fx.symbolic_trace(model.blocks[0].mlp)
    assert len(list(graph.graph.nodes)) == 5, graph.graph
    script = torch.jit.trace(model, batch(), check_trace=False)
    with torch.no_grad():
        model(batch())
    with torch.inference_mode():
        model(batch())
    return {"steps": 0, "nodes": str(script.inlined_graph).count("aten::")}


def parallel():
    import torch.distributed as dist
    store = dist.TCPStore("127.0.0.1", 0, 1, is_master=True)
    dist.init_process_group("nccl", store=store, rank=0, world_size=1)
    inner = Net().cuda()
    model = nn.parallel.DistributedDataParallel(inner, device_ids=[0])
    train(model, torch.optim.AdamW(model.parameters()))
    dist.destroy_process_group()
    return {"parameters": sorted(name for name, _ in inner.named_parameters()), "steps": 4}


def mixed():
    """Half precision, accumulated gradients, gradients of gradients, no gradients."""
    model = Net().cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for _ in range(3):
        for _ in range(2):
            with torch.autocast("cuda", torch.float16):
                loss = model(batch()).float().sum()
            scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    x = batch().requires_grad_()
    slope, = torch.autograd.grad(model(x).sum(), x, create_graph=True)
    slope.pow(2).sum().backward()
    optimizer.step()
    with torch.no_grad():
        model(batch())
    return {}


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return torch.full((256,), float(index))


def workers():
    model = Net().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for context in ("fork", "spawn"):
        loader = torch.utils.data.DataLoader(Rows(), batch_size=16, num_workers=2, multiprocessing_context=context)
        for rows in loader:
            loss = model(rows.cuda()).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return {"steps": 8}


def marked():
    """A program that marks its steps itself."""
    import memprof
    model = Net().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        memprof.step(10 * step)
        train(model, optimizer, 2)
    return {"numbers": [0, 10, 20]}


if __name__ == "__main__":
    said = globals()[sys.argv[1]]()
    torch.cuda.synchronize()
    said["peak"] = torch.cuda.max_memory_allocated()
    said["pid"] = os.getpid()
    print("said " + json.dumps(said), flush=True)
