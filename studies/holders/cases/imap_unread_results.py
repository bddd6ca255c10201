# half: third
# kind: python
# names: written
# bytes: 16777216
"""A pool of threads writes images that come through a queue, by ThreadPool.imap; nobody reads the results, which are
the images themselves, so the iterator stores them for a reader (Stack Overflow on imap that eats memory). To change:
return nothing from write_image."""
import multiprocessing.pool
import queue

import torch


def write_image(image):
    assert image.dim() == 2
    return image


class ImageWriter:
    def __init__(self):
        self.inbox = queue.Queue(maxsize=2)
        self.pool = multiprocessing.pool.ThreadPool(1)
        self.written = self.pool.imap(write_image, iter(self.inbox.get, None))

    def close(self):
        self.inbox.put(None)
        self.pool.close()
        self.pool.join()


def fit(model, optimizer, writer):
    for _ in range(16):
        images = model(torch.randn(256, 64, device="cuda"))
        optimizer.zero_grad()
        images.square().mean().backward()
        optimizer.step()
        writer.inbox.put(images.detach())
    writer.close()


writer = ImageWriter()
model = torch.nn.Linear(64, 1024).to("cuda")
fit(model, torch.optim.SGD(model.parameters(), lr=0.1), writer)
