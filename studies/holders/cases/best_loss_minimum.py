# half: fourth
# kind: autograd
# names: best_loss
# bytes: 16777216
"""The best loss of validation is a running minimum on the GPU, to avoid waiting for the device; torch.minimum has a
derivative like any function, so the number keeps the graphs of all losses that it was ever compared with (pytorch#17568
is the same with a sum). To change: loss.detach() at the comparison."""
import torch


def make_stopper(device):
    best_loss = torch.full((), 1e9, device=device)
    rounds = 0

    def update(loss):
        nonlocal best_loss, rounds
        best_loss = torch.minimum(best_loss, loss)
        rounds += 1
        return rounds > 100

    return update


def validate(model):
    return model(torch.randn(256, 64, device="cuda")).square().mean()


def fit(model, optimizer):
    should_stop = make_stopper("cuda")
    for _ in range(16):
        optimizer.zero_grad()
        model(torch.randn(8, 64, device="cuda")).square().mean().backward()
        optimizer.step()
        if should_stop(validate(model)):
            break


model = torch.nn.Sequential(torch.nn.Linear(64, 1024), torch.nn.Tanh(), torch.nn.Linear(1024, 1)).to("cuda")
fit(model, torch.optim.SGD(model.parameters(), lr=0.1))
