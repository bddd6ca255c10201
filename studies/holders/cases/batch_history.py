# half: seventh
# kind: python
# names: history net
# or: history NeuralNet
# or: record_batch History
# bytes: 25165824
"""A wrapper in the manner of scikit-learn has a history: a list of epochs, each a dict with a list of batches, each a
dict; whatever a callback records for a batch stays for as long as the network, and one records the embedding, to draw
it after the epoch (questions on skorch's history). To change: keep the embedding in the callback, and overwrite it."""
import time

import torch


class History(list):
    def new_epoch(self):
        self.append({"batches": []})

    def new_batch(self):
        self[-1]["batches"].append({})

    def record_batch(self, key, value):
        self[-1]["batches"][-1][key] = value


class RecordEmbedding:
    def on_batch_end(self, net, output):
        net.history.record_batch("embedding", output.detach())


class NeuralNet:
    def __init__(self, module, callbacks):
        self.module = module
        self.callbacks = callbacks
        self.optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
        self.history = History()

    def partial_fit(self, inputs):
        self.history.new_epoch()
        for batch in inputs:
            self.history.new_batch()
            output = self.module(batch)
            self.optimizer.zero_grad()
            loss = output.square().mean()
            loss.backward()
            self.optimizer.step()
            self.history.record_batch("train_loss", loss.item())
            for callback in self.callbacks:
                callback.on_batch_end(self, output)
            time.sleep(0.03)  # stands for the time of the kernels


net = NeuralNet(torch.nn.Linear(64, 1024).to("cuda"), [RecordEmbedding()])
for _ in range(4):
    net.partial_fit(torch.randn(6, 256, 64, device="cuda"))
