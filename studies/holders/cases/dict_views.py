# half: sixth
# kind: python
# names: rows report
# or: rows Report
# bytes: 16777216
"""Validation gives back the values of its dict of outputs, as outputs.values(), of which a report wants the shapes;
this is no copy but a view, and has the whole dict as long as the report keeps its rows (questions on what dict.values()
is). To change: make the shapes at once."""
import torch


class Report:
    def __init__(self):
        self.rows = ()

    def add(self, step, values):
        self.rows += ((step, values),)

    def text(self):
        return [(step, [tuple(value.shape) for value in values]) for step, values in self.rows]


@torch.no_grad()
def validate(model):
    outputs = {}
    for name in ("easy", "hard"):
        outputs[name] = model(torch.randn(128, 64, device="cuda"))
    return outputs.values()


def main():
    model = torch.nn.Linear(64, 1024).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    report = Report()
    for step in range(16):
        optimizer.zero_grad()
        model(torch.randn(32, 64, device="cuda")).square().mean().backward()
        optimizer.step()
        report.add(step, validate(model))
    return report.text()


main()
