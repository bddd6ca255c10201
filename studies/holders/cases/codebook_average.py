# half: sixth
# kind: autograd
# names: sums codebook
# or: sums Codebook
# bytes: 16777216
"""The codes of a quantizer are moving averages of the vectors that chose them, which need no gradients; but the vectors
come from an encoder with theirs, so the average is a graph of all batches, each with its table of choices
(vector-quantize-pytorch#57). To change: no_grad() in update, or vectors.detach()."""
import torch


class Codebook(torch.nn.Module):
    def __init__(self, codes, width):
        super().__init__()
        self.register_buffer("sums", torch.randn(codes, width))

    def update(self, vectors, choices):
        self.sums = 0.99 * self.sums + 0.01 * (choices.T @ vectors)

    def forward(self, vectors):
        codes = self.sums.detach()
        places = torch.cdist(vectors.detach(), codes).argmin(dim=1, keepdim=True)
        choices = torch.zeros(len(vectors), len(codes), device=vectors.device).scatter_(1, places, 1.0)
        self.update(vectors, choices)
        quantized = choices @ codes
        return vectors + (quantized - vectors).detach()


def main():
    encoder, decoder = torch.nn.Linear(32, 16).to("cuda"), torch.nn.Linear(16, 32).to("cuda")
    codebook = Codebook(1024, 16).to("cuda")
    optimizer = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.1)
    for _ in range(16):
        images = torch.randn(256, 32, device="cuda")
        loss = (decoder(codebook(encoder(images))) - images).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


main()
