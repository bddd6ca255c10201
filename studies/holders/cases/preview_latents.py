# half: seventh
# kind: autograd
# names: latents preview
# or: latents Preview
# bytes: 25165824
"""While a denoiser is trained, a preview of what it makes of one piece of noise goes on by one step of sampling at each
step of training; sampling is not within no_grad(), so the latents have all steps so far behind them (very many
questions on diffusion sampling that runs out of memory). To change: @torch.no_grad() on advance()."""
import time

import torch


class Preview:
    def __init__(self, denoiser, steps):
        self.denoiser = denoiser
        self.steps = steps
        self.latents = torch.randn(64, 64, device="cuda")

    def advance(self):
        noise = self.denoiser(self.latents)
        self.latents = self.latents - noise / self.steps


def main():
    denoiser = torch.nn.Sequential(torch.nn.Linear(64, 2048), torch.nn.SiLU(), torch.nn.Linear(2048, 64)).to("cuda")
    optimizer = torch.optim.SGD(denoiser.parameters(), lr=0.1)
    preview = Preview(denoiser, steps=24)
    for _ in range(24):
        clean, noise = torch.randn(2, 64, 64, device="cuda")
        optimizer.zero_grad()
        (denoiser(clean + noise) - noise).square().mean().backward()
        optimizer.step()
        preview.advance()
        time.sleep(0.03)  # stands for the time of the kernels


main()
