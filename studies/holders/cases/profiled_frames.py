# half: fourth
# kind: python
# names: frames recorder
# or: frames CallRecorder
# or: output train_step
# bytes: 16777216
"""A home-made profiler notes which functions returned, and keeps their frames, because a frame knows name, file and
line; it also has all local variables of the call (reports on tracing tools that keep frames). To change: keep
frame.f_code.co_name and the line."""
import sys
import time

import torch


class CallRecorder:
    def __init__(self, name):
        self.name = name
        self.frames = []
        self.times = []

    def __call__(self, frame, event, argument):
        if event == "return" and frame.f_code.co_name == self.name:
            self.frames.append(frame)
            self.times.append(time.perf_counter())

    def __enter__(self):
        sys.setprofile(self)
        return self

    def __exit__(self, *error):
        sys.setprofile(None)


def train_step(model, optimizer):
    output = model(torch.randn(256, 64, device="cuda"))
    optimizer.zero_grad()
    output.square().mean().backward()
    optimizer.step()


def main():
    model = torch.nn.Linear(64, 1024).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with CallRecorder("train_step") as recorder:
        for _ in range(16):
            train_step(model, optimizer)
    print(len(recorder.times), "calls")


main()
