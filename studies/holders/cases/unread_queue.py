# half: first
# kind: python
# names: uploads
# bytes: 16777216
"""Embeddings go into a queue for an uploader that is not fast enough (here: it waits for a server that is down), and
the queue has no limit (dlwpt-code#26 was this). To change: Queue(maxsize=...)."""
import queue
import threading

import torch


class Uploader(threading.Thread):
    def __init__(self, uploads, server_is_up):
        super().__init__(daemon=True)
        self.uploads, self.server_is_up = uploads, server_is_up

    def run(self):
        self.server_is_up.wait()
        while True:
            self.uploads.get()


def main():
    uploads = queue.Queue()
    Uploader(uploads, threading.Event()).start()
    model = torch.nn.Linear(64, 1024).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(16):
        embeddings = model(torch.randn(256, 64, device="cuda"))
        optimizer.zero_grad()
        embeddings.square().mean().backward()
        optimizer.step()
        uploads.put_nowait({"step": step, "embeddings": embeddings.detach()})


main()
