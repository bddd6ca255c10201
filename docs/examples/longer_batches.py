"""Sequences that grow, and a running average that is kept of each: the program of
docs/free-but-unusable.md."""
import torch
from torch import nn


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 512)).cuda()
    averages = []
    for step in range(300):
        length = 2048 + 64 * step  # each batch is a little longer than the one before
        batch = torch.zeros(length, 512, device="cuda")
        with torch.no_grad():
            result = model(batch)
            averages.append(result[:600].clone())  # 1.17 MiB, kept
        del batch, result
        if len(averages) > 40:
            averages.pop(0)
        if step % 20 == 0:
            torch.cuda.synchronize()
            print(f"step {step}: {torch.cuda.memory_allocated() >> 20} MiB in use, "
                  f"{torch.cuda.memory_reserved() >> 20} MiB reserved", flush=True)


if __name__ == "__main__":
    main()
