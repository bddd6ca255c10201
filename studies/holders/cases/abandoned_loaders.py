# half: fourth
# kind: python
# names: dataloader_references
# or: _shared_state GradientState
# bytes: 16777216
"""All parts of a training helper share one state, by a common __dict__; a loader puts itself in while it is read and
takes itself out at the end, but validation breaks off after one batch (accelerate#2234, accelerate#3391). To change:
remove the loader in a finally clause, or keep a weak reference."""
import torch


class GradientState:
    _shared_state = {}

    def __init__(self):
        self.__dict__ = self._shared_state
        if not self._shared_state:
            self.dataloader_references = []


class PreparedLoader:
    def __init__(self, batches):
        self.batches = batches
        self.gradient_state = GradientState()

    def __iter__(self):
        self.gradient_state.dataloader_references.append(self)
        yield from self.batches
        self.gradient_state.dataloader_references.remove(self)


def validate(model):
    with torch.no_grad():
        for batch in PreparedLoader([torch.randn(64, 2048, device="cuda") for _ in range(2)]):
            return model(batch).mean()


def train(model, optimizer):
    for _ in range(16):
        for batch in PreparedLoader([torch.randn(8, 2048, device="cuda")]):
            optimizer.zero_grad()
            model(batch).square().mean().backward()
            optimizer.step()
        validate(model)


model = torch.nn.Linear(2048, 8).to("cuda")
train(model, torch.optim.SGD(model.parameters(), lr=0.1))
