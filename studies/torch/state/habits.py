"""Memory that users keep on the GPU beside a network, and how they update it."""
import copy
from collections import deque

import torch
import torch.nn.functional as F
from torch import nn

from common import DEV, program, tell


def mlp(inputs=256, width=512, out=10):
    return nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, out)).to(DEV)


def update(opt, loss):
    opt.zero_grad()
    loss.backward()
    opt.step()


@program
def whole_data_set():
    x, y = torch.randn(20_000, 256, device=DEV), torch.randint(0, 10, (20_000,), device=DEV)
    model = mlp()
    opt = torch.optim.Adam(model.parameters())
    for step in range(12):
        rows = slice(step * 128, step * 128 + 128)
        update(opt, F.cross_entropy(model(x[rows]), y[rows]))
    tell(model, opt, inputs=[x, y])


@program
def data_set_uploaded_after_the_model():
    model = mlp()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    images = torch.rand(6000, 256).to(DEV)
    labels = torch.randint(0, 10, (6000,)).to(DEV)
    for epoch in range(2):
        order = torch.randperm(6000, device=DEV)
        for rows in order.split(1000):
            update(opt, F.cross_entropy(model(images[rows]), labels[rows]))
    tell(model, opt, inputs=[images, labels])


@program
def replay_storage():
    net = mlp(64, 256, 4)
    target = copy.deepcopy(net)
    opt = torch.optim.Adam(net.parameters())
    states = torch.zeros(30_000, 64, device=DEV)
    after = torch.zeros(30_000, 64, device=DEV)
    rewards, actions = torch.zeros(30_000, device=DEV), torch.zeros(30_000, dtype=torch.long, device=DEV)
    for step in range(20):
        states[step], after[step], rewards[step] = torch.randn(64), torch.randn(64), 1.0
        rows = torch.randint(0, step + 1, (64,), device=DEV)
        with torch.no_grad():
            goal = rewards[rows] + 0.99 * target(after[rows]).max(1).values
        update(opt, F.mse_loss(net(states[rows]).gather(1, actions[rows, None]).squeeze(1), goal))
    tell([net, target], opt, inputs=[states, after, rewards, actions])


@program
def queue_of_keys():
    student, teacher = mlp(out=128), mlp(out=128).requires_grad_(False)
    queue = F.normalize(torch.randn(16_384, 128, device=DEV), dim=1)
    opt = torch.optim.SGD(student.parameters(), lr=0.03, momentum=0.9)
    for step in range(10):
        x = torch.randn(64, 256, device=DEV)
        q, k = F.normalize(student(x), dim=1), F.normalize(teacher(x), dim=1)
        logits = torch.cat([(q * k).sum(1, keepdim=True), q @ queue.t()], 1) / 0.07
        update(opt, F.cross_entropy(logits, torch.zeros(64, dtype=torch.long, device=DEV)))
        queue[step * 64:step * 64 + 64] = k
        with torch.no_grad():
            for a, b in zip(teacher.parameters(), student.parameters()):
                a.mul_(0.99).add_(b, alpha=0.01)
    tell([student, teacher], opt, inputs=[queue, x])


@program
def averaged_weights():
    model = mlp()
    average = torch.optim.swa_utils.AveragedModel(model)
    opt = torch.optim.Adam(model.parameters())
    for _ in range(10):
        update(opt, model(torch.randn(64, 256, device=DEV)).square().mean())
        average.update_parameters(model)
    tell([model, average], opt)


@program
def adam_by_hand():
    model = mlp()
    m = [torch.zeros_like(p) for p in model.parameters()]
    v = [torch.zeros_like(p) for p in model.parameters()]
    for step in range(1, 11):
        model.zero_grad()
        model(torch.randn(64, 256, device=DEV)).square().mean().backward()
        with torch.no_grad():
            for p, mm, vv in zip(model.parameters(), m, v):
                mm.mul_(0.9).add_(p.grad, alpha=0.1)
                vv.mul_(0.999).addcmul_(p.grad, p.grad, value=0.001)
                p -= 1e-3 * (mm / (1 - 0.9**step)) / ((vv / (1 - 0.999**step)).sqrt() + 1e-8)
    tell(model, state=[m, v])


@program
def momentum_made_anew():
    model = mlp()
    velocity = {}
    for _ in range(10):
        model.zero_grad()
        model(torch.randn(64, 256, device=DEV)).square().mean().backward()
        with torch.no_grad():
            for name, p in model.named_parameters():
                velocity[name] = 0.9 * velocity[name] + p.grad if name in velocity else p.grad.clone()
                p.sub_(velocity[name], alpha=0.01)
    tell(model, state=[velocity])


@program
def gradients_by_function():
    weights = [torch.randn(512, 512, device=DEV, requires_grad=True) for _ in range(6)]
    for _ in range(10):
        h = torch.randn(64, 512, device=DEV)
        for w in weights:
            h = torch.tanh(h @ w / 22)
        for w, g in zip(weights, torch.autograd.grad(h.square().mean(), weights)):
            with torch.no_grad():
                w -= 0.1 * g
    tell([], parameters=weights, gradients=[g])  # the variable of the loop


@program
def accumulated():
    model = mlp()
    opt = torch.optim.AdamW(model.parameters())
    for _ in range(6):
        for _ in range(4):
            (model(torch.randn(32, 256, device=DEV)).square().mean() / 4).backward()
        opt.step()
        opt.zero_grad()
    for _ in range(2):
        model(torch.randn(32, 256, device=DEV)).square().mean().backward()
    tell(model, opt)


@program
def mixed_precision():
    model = mlp(512, 1024)
    opt = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for _ in range(8):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(torch.randn(64, 512, device=DEV)).float().square().mean()
        opt.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
    tell(model, opt)


@program
def half_with_master_weights():
    model = mlp(512, 1024).bfloat16()
    master = [p.detach().clone().float().requires_grad_() for p in model.parameters()]
    opt = torch.optim.AdamW(master)
    for _ in range(8):
        model.zero_grad()
        model(torch.randn(64, 512, device=DEV, dtype=torch.bfloat16)).float().square().mean().backward()
        for a, p in zip(master, model.parameters()):
            a.grad = p.grad.float()
        opt.step()
        with torch.no_grad():
            for a, p in zip(master, model.parameters()):
                p.copy_(a)
    tell(model, opt, state=[master], gradients=[a.grad for a in master])


@program
def checkpointed_layers():
    from torch.utils.checkpoint import checkpoint

    layers = nn.ModuleList(nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512)) for _ in range(4)).to(DEV)
    opt = torch.optim.Adam(layers.parameters())
    for _ in range(8):
        h = torch.randn(128, 512, device=DEV)
        for layer in layers:
            h = h + checkpoint(layer, h, use_reentrant=False)
        update(opt, h.square().mean())
    tell(layers, opt)


@program
def closure_of_lbfgs():
    model = mlp(width=256)
    x, y = torch.randn(512, 256, device=DEV), torch.randint(0, 10, (512,), device=DEV)
    opt = torch.optim.LBFGS(model.parameters(), max_iter=4, history_size=5)

    def closure():
        opt.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        return loss

    for _ in range(6):
        opt.step(closure)
    tell(model, opt, inputs=[x, y])


@program
def prefetched_by_a_stream():
    model = mlp(1024)
    opt = torch.optim.Adam(model.parameters())
    side = torch.cuda.Stream()
    ready = deque()
    for step in range(12):
        with torch.cuda.stream(side):
            ready.append(torch.randn(512, 1024).to(DEV, non_blocking=True))
        if len(ready) > 3:
            torch.cuda.current_stream().wait_stream(side)
            update(opt, model(ready.popleft()).square().mean())
    tell(model, opt, inputs=[list(ready)])


@program
def loaded_from_a_checkpoint():
    import io

    first = mlp()
    file = io.BytesIO()
    torch.save(first.state_dict(), file)
    del first
    file.seek(0)
    model = mlp()
    state = torch.load(file, map_location=DEV)
    model.load_state_dict(state)
    opt = torch.optim.AdamW(model.parameters())
    for _ in range(8):
        update(opt, model(torch.randn(64, 256, device=DEV)).square().mean())
    tell(model, opt, parameters=[state])


@program
def best_weights_kept():
    model, best = mlp(), None
    opt = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for step in range(12):
        update(opt, model(torch.randn(64, 256, device=DEV)).square().mean())
        if step % 4 == 3:
            best = copy.deepcopy(model.state_dict())
    tell(model, opt, parameters=[best])


@program
def one_sample_by_hand():
    w = torch.zeros(4096, 1024, device=DEV)
    b = torch.zeros(1024, device=DEV)
    for _ in range(30):
        x, y = torch.randn(1, 4096, device=DEV), torch.randn(1, 1024, device=DEV)
        error = x @ w + b - y
        w -= 0.001 * x.t() @ error
        b -= 0.001 * error[0]
    tell([], parameters=[w, b], inputs=[x, y])


@program
def layers_unfrozen_later():
    model = mlp(512, 1024)
    for p in model[0].parameters():
        p.requires_grad_(False)
    opt = torch.optim.Adam([p for p in model.parameters() if p.requires_grad])
    for step in range(12):
        if step == 6:
            for p in model[0].parameters():
                p.requires_grad_(True)
            opt.add_param_group({"params": list(model[0].parameters())})
        update(opt, model(torch.randn(64, 512, device=DEV)).square().mean())
    tell(model, opt)


@program
def memory_bank_of_features():
    model = mlp(256, 512, 128)
    bank = torch.zeros(25_000, 128, device=DEV)
    opt = torch.optim.Adam(model.parameters())
    for _ in range(10):
        rows = torch.randint(0, 25_000, (128,), device=DEV)
        f = F.normalize(model(torch.randn(128, 256, device=DEV)), dim=1)
        update(opt, -(f @ bank.t()).logsumexp(1).mean())
        bank[rows] = f.detach()
    tell(model, opt, inputs=[bank])


@program
def table_of_places():
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(256, 4, 512, batch_first=True), 2).to(DEV)
    angle = torch.arange(8192, device=DEV)[:, None] / 10_000 ** (torch.arange(0, 256, 2, device=DEV) / 256)
    places = torch.cat([angle.sin(), angle.cos()], 1)
    del angle
    opt = torch.optim.AdamW(model.parameters())
    for _ in range(8):
        update(opt, model(torch.randn(8, 64, 256, device=DEV) + places[:64]).square().mean())
    tell(model, opt, inputs=[places])


@program
def two_optimizers_one_net():
    model = mlp()
    opts = [torch.optim.SGD(model[0].parameters(), lr=0.1, momentum=0.9), torch.optim.Adam(model[2:].parameters())]
    for _ in range(10):
        loss = model(torch.randn(64, 256, device=DEV)).square().mean()
        model.zero_grad()
        loss.backward()
        for opt in opts:
            opt.step()
    tell(model, opts)
