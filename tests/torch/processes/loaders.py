"""Trains with workers that read data, started with the method in argv[1]: fork, spawn or forkserver; "persistent"
in argv[2] keeps them. No worker uses the GPU."""
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Samples(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return torch.full((256,), float(index)), index % 8


def main():
    model = nn.Linear(256, 8).cuda()  # initialises the driver before workers are forked
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(Samples(), batch_size=16, num_workers=2, pin_memory=True,
                        multiprocessing_context=sys.argv[1],
                        persistent_workers="persistent" in sys.argv[2:])
    for _ in range(2):
        for samples, labels in loader:
            loss = nn.functional.cross_entropy(model(samples.cuda(non_blocking=True)),
                                               labels.cuda(non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    torch.cuda.synchronize()
    print("trained")


if __name__ == "__main__":
    main()
