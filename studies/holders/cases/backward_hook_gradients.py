# half: second
# kind: python
# names: gradients recorder
# bytes: 16777216
"""A full backward hook saves the gradients that come out of a layer, for a plot at the end (pytorch#74831 and
DeepSpeed#1572 are about such hooks). To change: save their norm."""
import torch


class Recorder:
    def __init__(self, module):
        self.gradients = []
        module.register_full_backward_hook(self.save)

    def save(self, module, grad_input, grad_output):
        self.gradients.append(grad_output)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.down = torch.nn.Linear(64, 1024)
        self.up = torch.nn.Linear(1024, 64)

    def forward(self, batch):
        return self.up(self.down(batch).tanh())


model = Model().to("cuda")
recorder = Recorder(model.down)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(16):
    loss = model(torch.randn(256, 64, device="cuda")).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
