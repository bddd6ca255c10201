# half: second
# kind: python
# names: tape
# bytes: 16777216
"""A tape for tracing is a tuple in a context variable, made longer by each layer; nobody resets it after the step. To
change: tape.reset(token) at the end of a step."""
import contextvars

import torch

tape = contextvars.ContextVar("tape", default=())


class Traced(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(64, 1024)

    def forward(self, batch):
        output = self.layer(batch)
        tape.set(tape.get() + (("layer", output.detach()),))
        return output


def main():
    model = Traced().to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(16):
        loss = model(torch.randn(256, 64, device="cuda")).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


main()
