# half: fifth
# kind: python
# names: Timer
# or: save_preview
# bytes: 16777216
"""A preview of each step is saved an hour later, when the disk is idle, by threading.Timer; each timer is a thread that
waits and has its arguments (questions on timers that are never cancelled). To change: cancel the timer of the step
before, or give it a copy on the CPU."""
import threading

import torch


def save_preview(step, images):
    torch.save(images.cpu(), f"preview{step}.pt")


def save_later(step, images, seconds=3600):
    timer = threading.Timer(seconds, save_preview, args=(step, images))
    timer.daemon = True
    timer.start()


model = torch.nn.Linear(64, 1024).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(16):
    output = model(torch.randn(256, 64, device="cuda"))
    optimizer.zero_grad()
    output.square().mean().backward()
    optimizer.step()
    save_later(step, output.detach())
    del output
