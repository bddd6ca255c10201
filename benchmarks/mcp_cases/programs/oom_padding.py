# record: --sim=memory=1GiB
"""Texts are padded to the longest of the corpus rather than of the batch."""
import torch

LONGEST = 600_000


def collate(texts):
    return torch.stack([torch.nn.functional.pad(text, (0, LONGEST - len(text))) for text in texts])  # HERE


head = torch.nn.Linear(1, 4).to("cuda")
for size in (4, 8, 512):
    batch = collate([torch.ones(100, device="cuda") for _ in range(size)])
    head(batch[:, :64].unsqueeze(-1)).mean().backward()
