"""A small language model that trains until the GPU is full: the program of docs/pytorch.md."""
import argparse

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.heads = heads

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for part in self.qkv(self.norm1(x)).chunk(3, dim=-1)
        )
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norm2(x))


class Model(nn.Module):
    def __init__(self, vocabulary, width=256, layers=4, heads=8, context=128):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.places = nn.Parameter(torch.zeros(context, width))
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens):
        return self.head(self.blocks(self.tokens(tokens) + self.places))


class Metrics:
    """What is to be reported when the epoch is over."""

    def __init__(self):
        self.losses = []
        self.predictions = []

    def update(self, loss, logits):
        self.losses.append(loss.item())
        self.predictions.append(logits.detach())

    def confidence(self):
        return torch.cat(self.predictions).softmax(dim=-1).amax(dim=-1).mean().item()


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--steps", type=int, default=200)
    arguments.add_argument("--batch", type=int, default=16)
    options = arguments.parse_args()

    torch.manual_seed(0)
    vocabulary, context = 4096, 128
    model = Model(vocabulary, context=context).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    metrics = Metrics()
    for step in range(options.steps):
        text = torch.randint(vocabulary, (options.batch, context + 1)).cuda()
        logits = model(text[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        metrics.update(loss, logits)
        if step % 10 == 0:
            print(f"step {step}: loss {metrics.losses[-1]:.3f}", flush=True)
    print(f"confidence {metrics.confidence():.3f}")
    print(f"peak {torch.cuda.max_memory_allocated()} bytes", flush=True)


if __name__ == "__main__":
    main()
