# half: sixth
# kind: python
# names: selector features
# or: selector ClientSession
# bytes: 16777216
"""A small server of a model learns by a selector when a client writes, and registers the session of the client as data
of the connection; clients go, and nobody unregisters what they leave (reports on servers whose memory grows with
connections). To change: selector.unregister(connection) when recv() gives nothing."""
import selectors
import socket

import torch


class ClientSession:
    def __init__(self, features):
        self.features = features
        self.answered = 0


class Server:
    def __init__(self, model):
        self.model = model
        self.selector = selectors.DefaultSelector()

    def accept(self, connection, batch):
        with torch.no_grad():
            features = self.model(batch)
        self.selector.register(connection, selectors.EVENT_READ, data=ClientSession(features))

    def serve(self):
        for key, _ in self.selector.select(timeout=0):
            if key.fileobj.recv(16) != b"":
                key.data.answered += 1


model = torch.nn.Linear(64, 1024).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
server = Server(model)
for step in range(16):
    ours, theirs = socket.socketpair()
    server.accept(ours, torch.randn(256, 64, device="cuda"))
    theirs.close()
    server.serve()
    optimizer.zero_grad()
    model(torch.randn(32, 64, device="cuda")).square().mean().backward()
    optimizer.step()
