# half: fifth
# kind: python
# names: open_regions
# bytes: 12582912
"""Regions of a trace are context managers that are entered and left by hand; when gradients are accumulated the loop
goes on before stop(), and a region that was not left is a generator whose frame has what it was given (questions on
profiling with gradient accumulation). To change: `with tracer.region(...)`."""
import contextlib
import time

import torch


class Tracer:
    def __init__(self):
        self.times = []
        self.open_regions = []

    @contextlib.contextmanager
    def region(self, name, output):
        start = time.perf_counter()
        yield
        self.times.append((name, output.shape, time.perf_counter() - start))

    def start(self, name, output):
        region = self.region(name, output)
        region.__enter__()
        self.open_regions.append(region)

    def stop(self):
        self.open_regions.pop().__exit__(None, None, None)


def main():
    tracer = Tracer()
    model = torch.nn.Linear(64, 1024).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(24):
        output = model(torch.randn(256, 64, device="cuda"))
        tracer.start(f"step {step}", output.detach())
        output.square().mean().backward()
        del output
        if step % 2 == 0:
            continue
        optimizer.step()
        optimizer.zero_grad()
        tracer.stop()


main()
