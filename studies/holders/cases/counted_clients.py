# half: fourth
# kind: python
# names: prototypes server
# or: prototypes Server
# bytes: 16777216
"""A server of federated learning adds up the prototypes of its clients in a Counter, which gives 0 for a client that it
does not know, so that += just works; clients come once and their sums stay (questions on Counter with tensors). To
change: delete the entry when the client has gone, or keep one sum for all."""
import collections

import torch


class Server:
    def __init__(self):
        self.prototypes = collections.Counter()
        self.visits = collections.Counter()

    def receive(self, client, features):
        self.prototypes[client] += features
        self.visits[client] += 1


class Client:
    def __init__(self, number, model):
        self.name = f"client-{number}"
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def train(self, batches):
        for batch in batches:
            features = self.model(batch)
            self.optimizer.zero_grad()
            features.square().mean().backward()
            self.optimizer.step()
        return features.detach()


def run(rounds):
    server = Server()
    model = torch.nn.Linear(64, 1024).to("cuda")
    for number in range(rounds):
        client = Client(number, model)
        server.receive(client.name, client.train([torch.randn(256, 64, device="cuda")]))
    return server.visits.total()


run(16)
