# half: seventh
# kind: c++ python
# names: connected publisher
# or: connected Publisher
# or: features send
# bytes: 25165824
"""Features are sent to a server when there is a connection: a future of torch stands for it, and what shall be done
then is hung on the future with then(). The server never answers, so the functions wait in the future, in C++, each with
its features (questions on then() of torch.futures and hooks for communication). To change: send a copy on the CPU, and
drop what waits too long."""
import time

import torch


class Publisher:
    def __init__(self):
        self.connected = torch.futures.Future()
        self.sent = 0

    def publish(self, features):
        def send(connected):
            connected.wait()
            self.sent += len(features)

        self.connected.then(send)


def train(model, optimizer, publisher):
    for _ in range(24):
        output = model(torch.randn(256, 64, device="cuda"))
        optimizer.zero_grad()
        output.square().mean().backward()
        optimizer.step()
        publisher.publish(output.detach())
        time.sleep(0.03)  # stands for the time of the kernels


publisher = Publisher()
model = torch.nn.Linear(64, 1024).to("cuda")
train(model, torch.optim.SGD(model.parameters(), lr=0.1), publisher)
