# half: fifth
# kind: python
# names: feature_cache executor
# or: feature_cache VideoEncoder
# or: feature_cache encoders
# bytes: 16777216
"""An encoder of videos keeps features of earlier frames while it works and clears them at the end; when the user
cancels a preview it leaves by an exception, and the nodes of the workflow keep the encoder (ComfyUI#10308). To change:
a local variable instead of the attribute, or clear it in a finally clause."""
import torch


class Cancelled(Exception):
    pass


class VideoEncoder:
    def __init__(self, model):
        self.model = model
        self.feature_cache = []

    @torch.no_grad()
    def encode(self, frames, check):
        self.feature_cache = []
        for number, frame in enumerate(frames):
            self.feature_cache.append(self.model(frame))
            check(number)
        latent = sum(features.mean() for features in self.feature_cache)
        self.feature_cache = []
        return latent


class Executor:
    def __init__(self):
        self.encoders = {}

    def preview(self, prompt, model):
        encoder = self.encoders.setdefault(prompt, VideoEncoder(model))
        try:
            return encoder.encode([torch.randn(128, 64, device="cuda") for _ in range(4)], self.check)
        except Cancelled:
            return None

    def check(self, number):
        if number == 1:
            raise Cancelled


executor = Executor()
model = torch.nn.Linear(64, 1024).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(16):
    optimizer.zero_grad()
    model(torch.randn(32, 64, device="cuda")).square().mean().backward()
    optimizer.step()
    executor.preview(f"a cat after {step} steps", model)
