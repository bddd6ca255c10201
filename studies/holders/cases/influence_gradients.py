# half: third
# kind: autograd
# names: gradients influence
# or: gradients InfluenceScores
# bytes: 16777216
"""Scores of influence need second derivatives, so the gradients of each batch are taken with create_graph=True and kept
until the scores are asked for; behind small gradients are large graphs (forum questions on Hessian products). To
change: compute the product at once, or take the gradients anew when needed."""
import torch


class InfluenceScores:
    def __init__(self, head):
        self.head = head
        self.gradients = []

    def add(self, loss):
        self.gradients.append(torch.autograd.grad(loss, [self.head.weight, self.head.bias], create_graph=True))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(64, 1024)
        self.head = torch.nn.Linear(1024, 4)

    def forward(self, images):
        return self.head(torch.tanh(self.body(images)))


def main():
    model = Net().to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    influence = InfluenceScores(model.head)
    for _ in range(16):
        influence.add(model(torch.randn(256, 64, device="cuda")).square().mean())
        optimizer.zero_grad()
        model(torch.randn(8, 64, device="cuda")).square().mean().backward()
        optimizer.step()


main()
