# half: second
# kind: python
# names: sessions
# bytes: 16777216
"""A chat service keeps the keys and values of each session (mellea#544 has this with past_key_values), as tuples of
layers, and sessions do not end. To change: drop a session after some time."""
import torch


class Session:
    def __init__(self):
        self.past = ()

    def extend(self, keys, values):
        self.past += ((keys, values),)


class Service:
    def __init__(self):
        self.model = torch.nn.Linear(64, 512).to("cuda")
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.sessions = {}

    def answer(self, user):
        session = self.sessions.setdefault(user, Session())
        keys = self.model(torch.randn(256, 64, device="cuda"))
        values = self.model(torch.randn(256, 64, device="cuda"))
        session.extend(keys.detach(), values.detach())
        self.optimizer.zero_grad()
        (keys * values).mean().backward()
        self.optimizer.step()


def serve():
    service = Service()
    for number in range(16):
        service.answer(f"user{number % 4}")


serve()
