# half: first
# kind: python
# names: futures
# bytes: 16777216
"""Futures of a thread pool are listed to wait for them all at the end, and a future keeps its result as long as it
lives. To change: take results with as_completed and drop the futures."""
import concurrent.futures

import torch

model = torch.nn.Linear(64, 1024).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def augment(batch):
    return batch.repeat(1, 16)


def main():
    futures = []
    with concurrent.futures.ThreadPoolExecutor(max_workers=1) as pool:
        for _ in range(16):
            batch = torch.randn(256, 64, device="cuda")
            futures.append(pool.submit(augment, batch))
            futures[-1].result()
            optimizer.zero_grad()
            model(batch).square().mean().backward()
            optimizer.step()
        concurrent.futures.wait(futures)


main()
