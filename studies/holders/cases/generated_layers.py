# half: seventh
# kind: autograd
# names: clients
# or: weight Client
# bytes: 31457280
"""A hypernetwork makes the weights of a small layer for each client, and the client gets them to answer with; they are
not parameters of the client but results, and have the graph of the hypernetwork behind them (questions on hypernetworks
and personalized federated learning in PyTorch). To change: client.weight = weight.detach() when it is handed out."""
import time

import torch


class Client:
    def __init__(self, number):
        self.number = number
        self.description = torch.randn(256, 64, device="cuda")
        self.weight = None

    def answer(self, question):
        with torch.no_grad():
            return question @ self.weight


class HyperNetwork(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Linear(64, 1024), torch.nn.GELU())
        self.head = torch.nn.Linear(1024, 16)

    def forward(self, description):
        return self.head(self.body(description)).view(64, 64)


def main():
    hypernetwork = HyperNetwork().to("cuda")
    optimizer = torch.optim.SGD(hypernetwork.parameters(), lr=0.1)
    clients = []
    for number in range(16):
        client = Client(number)
        optimizer.zero_grad()
        (torch.randn(32, 64, device="cuda") @ hypernetwork(client.description)).square().mean().backward()
        optimizer.step()
        client.weight = hypernetwork(client.description)
        client.answer(torch.randn(1, 64, device="cuda"))
        clients.append(client)
        time.sleep(0.03)  # stands for the time of the kernels


main()
