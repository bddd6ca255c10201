# half: third
# kind: python
# names: example model
# or: example prepare
# bytes: 16777216
"""prepare() replaces the forward of a model by one that first compares the input with an example, and calls the forward
that was there; it is called anew for each batch, so wrappers pile up in wrappers (reports on preparing a model twice).
To change: prepare once, or put the first forward back."""
import torch


def prepare(model, example):
    original = model.forward

    def forward(images):
        if images.shape[1:] != example.shape[1:]:
            raise ValueError(f"expected {example.shape}")
        return original(images)

    model.forward = forward
    return model


def fit(model, optimizer):
    for _ in range(16):
        batch = torch.randn(256, 1024, device="cuda")
        prepare(model, batch)
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()


model = torch.nn.Linear(1024, 8).to("cuda")
fit(model, torch.optim.SGD(model.parameters(), lr=0.1))
