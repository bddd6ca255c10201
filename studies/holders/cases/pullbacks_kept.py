# half: third
# kind: autograd python
# names: pullbacks
# bytes: 16777216
"""torch.func.vjp gives a function that pulls a vector back, and it has the graph of its forward pass; they are kept for
all batches, for a study of sensitivity at the end (functorch#639 is about graphs behind the transforms). To change:
call the pullback at once and keep its result, on the CPU."""
import torch


def study(model, batch):
    def respond(inputs):
        return torch.tanh(torch.nn.functional.linear(inputs, model.weight.detach())).mean(dim=1)

    response, pullback = torch.func.vjp(respond, batch)
    return pullback


def main():
    pullbacks = {}
    model = torch.nn.Linear(64, 1024).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(16):
        batch = torch.randn(256, 64, device="cuda")
        pullbacks[step] = study(model, batch)
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()


main()
