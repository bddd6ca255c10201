# half: second
# kind: python
# names: backlog consume
# bytes: 16777216
"""A thread that should write images to disk collects them in a local list until there are enough, which never happens;
only its frame knows the list. To change: flush sooner, or put CPU tensors into the inbox."""
import queue
import threading

import torch


def consume(inbox):
    backlog = []
    while True:
        backlog.append(inbox.get())
        inbox.task_done()
        if len(backlog) == 1000:
            backlog.clear()


inbox = queue.Queue()
threading.Thread(target=consume, args=(inbox,), daemon=True).start()
model = torch.nn.Linear(64, 1024).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(16):
    image = model(torch.randn(256, 64, device="cuda"))
    optimizer.zero_grad()
    image.square().mean().backward()
    optimizer.step()
    inbox.put(image.detach())
    inbox.join()
