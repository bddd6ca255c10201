# half: second
# kind: python
# names: train
# or: load_all
# bytes: 16777216
"""The whole data set is put on the GPU and iterated over at once: no variable has the list, but the loop of `train`
holds its iterator, here in a thread that the user paused. Does not grow. To change: move batches one by one."""
import queue
import threading

import torch


def load_all(count):
    return [torch.randn(256, 1024, device="cuda") for _ in range(count)]


def train(progress, resumed):
    model = torch.nn.Linear(1024, 16).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step, batch in enumerate(load_all(16)):
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()
        progress.put(step)
        if step == 14:
            resumed.wait()


progress = queue.Queue()
threading.Thread(target=train, args=(progress, threading.Event()), daemon=True).start()
while progress.get() < 14:
    pass
