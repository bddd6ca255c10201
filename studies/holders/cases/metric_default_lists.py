# half: fourth
# kind: python
# names: confidences calibration
# or: defaults calibration
# or: confidences CalibrationError
# or: defaults CalibrationError
# bytes: 16777216
"""A metric is reset after each epoch, and it does not help: reset() gives the state the list that was its default, and
this is the list that was filled (torchmetrics#2492 is about reset() and lists). To change: copy the default in
add_state and in reset."""
import torch


class Metric(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.defaults = {}

    def add_state(self, name, default):
        self.defaults[name] = default
        setattr(self, name, default)

    def reset(self):
        for name, default in self.defaults.items():
            setattr(self, name, default)


class CalibrationError(Metric):
    def __init__(self):
        super().__init__()
        self.add_state("confidences", [])
        self.add_state("batches", 0)

    def update(self, logits):
        self.confidences.append(logits.softmax(dim=1))
        self.batches += 1


class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(64, 1024)
        self.calibration = CalibrationError()

    def training_step(self, images):
        logits = self.layer(images)
        self.calibration.update(logits.detach())
        return logits.square().mean()


model = Classifier().to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(8):
    for _ in range(2):
        loss = model.training_step(torch.randn(256, 64, device="cuda"))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.calibration.reset()
