"""A residual network of convolutions, batch normalisation and pooling, with SGD and a scheduler."""
import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, channels, out, stride):
        super().__init__()
        self.first = nn.Conv2d(channels, out, 3, stride, 1, bias=False)
        self.first_norm = nn.BatchNorm2d(out)
        self.second = nn.Conv2d(out, out, 3, 1, 1, groups=4, bias=True)
        self.second_norm = nn.BatchNorm2d(out)
        self.down = nn.Conv2d(channels, out, 1, stride)

    def forward(self, x):
        y = F.relu(self.first_norm(self.first(x)))
        return F.relu(self.second_norm(self.second(y)) + self.down(x))


torch.manual_seed(0)
torch.backends.cudnn.benchmark = True
model = nn.Sequential(nn.Conv2d(3, 16, 7, 2, 3), nn.MaxPool2d(3, 2, 1), Block(16, 32, 2),
                      Block(32, 64, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                      nn.Linear(64, 10)).cuda()
upsample = nn.ConvTranspose2d(3, 3, 2, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
for step in range(6):
    images = upsample(torch.randn(8, 3, 32, 32, device="cuda"))
    labels = torch.randint(0, 10, (8,), device="cuda")
    loss = F.cross_entropy(model(images), labels, label_smoothing=0.1)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    schedule.step()
model.eval()
with torch.no_grad():
    correct = (model(torch.randn(8, 3, 64, 64, device="cuda")).argmax(1) == labels).sum().item()
print("correct", correct)
