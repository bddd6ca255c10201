# half: third
# kind: autograd
# names: center criterion
# or: center DistillationLoss
# bytes: 16777216
"""The loss of a self-distillation moves a center towards the mean of the teacher's outputs; the teacher runs without
no_grad(), so the center has the graphs of all steps (gflownet#133 has it with moving averages). The loss itself
detaches what it uses. To change: no_grad() in update_center."""
import torch


class DistillationLoss:
    def __init__(self, width):
        self.center = torch.zeros(width, device="cuda")

    def __call__(self, student, teacher):
        target = torch.softmax(teacher.detach() - self.center.detach(), dim=1)
        self.update_center(teacher)
        return -(target * torch.log_softmax(student, dim=1)).sum(dim=1).mean()

    def update_center(self, teacher):
        self.center = 0.9 * self.center + 0.1 * teacher.mean(dim=0)


def make_net():
    return torch.nn.Sequential(torch.nn.Linear(64, 1024), torch.nn.Tanh(), torch.nn.Linear(1024, 32)).to("cuda")


def fit(student, teacher, criterion, optimizer):
    for _ in range(16):
        images = torch.randn(256, 64, device="cuda")
        loss = criterion(student(images), teacher(images))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


student, teacher = make_net(), make_net()
criterion = DistillationLoss(32)
fit(student, teacher, criterion, torch.optim.SGD(student.parameters(), lr=0.1))
