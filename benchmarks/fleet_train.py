"""A training in PyTorch whose ranks may have defects: benchmarks/fleet_logs records it.

usage: memprof run --torch -- python benchmarks/fleet_train.py transformer|cnn plain|large|leak|oom STEPS
"""
import sys

import torch
from torch import nn


def transformer():
    layer = nn.TransformerEncoderLayer(128, 4, 512, batch_first=True)
    return nn.Sequential(nn.TransformerEncoder(layer, 3), nn.Linear(128, 256)), (64, 128)


def cnn():
    return nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 64, 3, 2, 1), nn.ReLU(),
                         nn.AdaptiveAvgPool2d(8), nn.Flatten(), nn.Linear(64 * 8 * 8, 512)), (3, 64, 64)


class Metrics:
    def __init__(self):
        self.outputs = []

    def update(self, outputs):
        self.outputs.append(outputs)  # the leak


def main():
    name, defect, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
    torch.manual_seed(0)
    model, shape = {"transformer": transformer, "cnn": cnn}[name]()
    model = model.cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    metrics = Metrics()
    for step in range(steps):
        outputs = model(torch.randn(64 if defect == "large" else 32, *shape, device="cuda"))
        outputs.square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        if defect == "leak" and step >= 10:
            metrics.update(outputs.detach().clone())
        if defect == "oom" and step == steps // 2:
            try:
                torch.empty(1 << 42, dtype=torch.uint8, device="cuda")
            except torch.cuda.OutOfMemoryError:
                pass


if __name__ == "__main__":
    main()
