# half: third
# kind: python
# names: maps processor
# or: maps AttentionStore
# or: maps store
# bytes: 16777216
"""Attention processors put each attention map into a store for pictures of them, and the store is emptied only after 50
steps; just the layers know it (diffusers#536, and reports on prompt-to-prompt). To change: average the maps as they
come."""
import torch


class AttentionStore:
    def __init__(self):
        self.maps = {"down": [], "up": []}

    def add(self, place, weights):
        self.maps[place].append(weights.detach())


class Processor:
    def __init__(self, store, place):
        self.store, self.place = store, place

    def __call__(self, attention, tokens, context):
        scores = attention.query(tokens) @ attention.key(context).T
        weights = torch.softmax(scores, dim=-1)
        self.store.add(self.place, weights)
        return weights @ context


class Attention(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query = torch.nn.Linear(width, width)
        self.key = torch.nn.Linear(width, width)
        self.processor = None

    def forward(self, tokens, context):
        return tokens + self.processor(self, tokens, context)


class Denoiser(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.down = Attention(32)
        self.up = Attention(32)

    def forward(self, tokens, context):
        return self.up(self.down(tokens, context), context)


def watch_attention(model):
    store = AttentionStore()
    for place in ("down", "up"):
        getattr(model, place).processor = Processor(store, place)


model = Denoiser().to("cuda")
watch_attention(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(16):
    optimizer.zero_grad()
    model(torch.randn(256, 32, device="cuda"), torch.randn(512, 32, device="cuda")).square().mean().backward()
    optimizer.step()
