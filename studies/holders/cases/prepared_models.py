# half: fifth
# kind: python
# names: prepared accelerator
# or: prepared Accelerator
# bytes: 25165824
"""A search makes a model for each trial and has it prepared by one helper object for all of them; the helper lists what
it prepared, for saving, and `del model` does not change that (questions on Accelerate's free_memory() in loops). To
change: accelerator.free_memory() after a trial."""
import torch


class Accelerator:
    def __init__(self, device):
        self.device = device
        self.prepared = []

    def prepare(self, model, optimizer_class, **options):
        model = model.to(self.device)
        optimizer = optimizer_class(model.parameters(), **options)
        self.prepared.append((model, optimizer))
        return model, optimizer

    def free_memory(self):
        self.prepared.clear()


def trial(accelerator, rate):
    model, optimizer = accelerator.prepare(torch.nn.Linear(256, 1024), torch.optim.SGD, lr=rate)
    score = model(torch.randn(32, 256, device="cuda")).square().mean()
    score.backward()
    optimizer.step()
    return float(score.detach())


def search(trials):
    accelerator = Accelerator("cuda")
    return [trial(accelerator, rate=0.1 / number) for number in range(1, trials + 1)]


search(12)
