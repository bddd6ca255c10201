# half: first
# kind: autograd
# names: losses main
# bytes: 16777216
"""Losses are listed for a plot, and backward(retain_graph=True) was put in against an error message, so each keeps its
activations (a forum classic). To change: append loss.item()."""
import torch


def main():
    model = torch.nn.Linear(64, 1024).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    losses = []
    for step in range(16):
        output = model(torch.randn(256, 64, device="cuda"))
        loss = output.square().mean()
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        optimizer.step()
        losses.append(loss)
    print("steps", len(losses))


main()
