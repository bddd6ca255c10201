# half: fourth
# kind: python
# names: seen
# bytes: 16777216
"""Continual learning trains on the new task and all before it: the data set of a task is concatenated with what was
there, and each has its images on the GPU, one set inside another (reports on memory that grows with the number of
tasks). To change: keep a few images of each task, or the old ones on the CPU."""
import torch
from torch.utils.data import ConcatDataset, DataLoader, TensorDataset


def load_task():
    return TensorDataset(torch.randn(256, 1024, device="cuda"))


def train_on(dataset, model, optimizer):
    (images,) = next(iter(DataLoader(dataset, batch_size=8, shuffle=True)))
    optimizer.zero_grad()
    model(images).square().mean().backward()
    optimizer.step()


def learn_tasks(number):
    model = torch.nn.Linear(1024, 8).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    seen = load_task()
    for _ in range(number - 1):
        train_on(seen, model, optimizer)
        seen = ConcatDataset([seen, load_task()])


learn_tasks(16)
