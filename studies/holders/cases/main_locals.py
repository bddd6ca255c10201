# half: first
# kind: python
# names: hidden_states main
# bytes: 16777216
"""All in one long main(): a list for a plot of hidden states, next to lists of floats that are harmless. To change:
.cpu() before the append."""
import torch


def main():
    model = torch.nn.Linear(64, 1024).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses, rates, hidden_states = [], [], []
    for step in range(16):
        hidden = model(torch.randn(256, 64, device="cuda"))
        loss = hidden.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        rates.append(optimizer.param_groups[0]["lr"])
        hidden_states.append(hidden.detach())


main()
