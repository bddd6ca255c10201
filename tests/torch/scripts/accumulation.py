"""Gradients accumulated over four batches from a DataLoader with workers and pinned memory."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(256, 128), torch.randn(256, 8))
    loader = DataLoader(data, batch_size=16, num_workers=2, pin_memory=True)
    model = nn.Sequential(nn.Linear(128, 512), nn.Tanh(), nn.Linear(512, 8)).cuda()
    optimizer = torch.optim.RMSprop(model.parameters())
    for epoch in range(2):
        for index, (x, y) in enumerate(loader):
            x, y = x.to("cuda", non_blocking=True), y.to("cuda", non_blocking=True)
            (nn.functional.mse_loss(model(x), y) / 4).backward()
            if index % 4 == 3:
                optimizer.step()
                optimizer.zero_grad()


if __name__ == "__main__":
    main()
