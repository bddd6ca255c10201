# record: --sim=memory=1GiB --holders
"""Every step's outputs are kept for a histogram that nobody draws."""
import torch


class Monitor:
    def __init__(self):
        self.outputs = []

    def observe(self, output):
        self.outputs.append(output)  # HERE



model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512)).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

monitor = Monitor()
for _ in range(200):
    output = model(torch.randn(8192, 512, device="cuda"))
    monitor.observe(output.detach())
    output.mean().backward()
    optimizer.step()
    optimizer.zero_grad()
