# half: fourth
# kind: python
# names: threads evaluator
# or: threads Evaluator
# or: result EvaluationThread
# bytes: 16777216
"""A subclass of Thread keeps what it computed as `result`, the usual answer to how a thread returns a value; the
evaluator lists its threads to join them and never takes a finished one off (Stack Overflow on return values of
threads). To change: empty the list after the join."""
import threading

import torch


class EvaluationThread(threading.Thread):
    def __init__(self, model, batch):
        super().__init__()
        self.model = model
        self.batch = batch
        self.result = None

    def run(self):
        with torch.no_grad():
            self.result = self.model(self.batch)


class Evaluator:
    def __init__(self, model):
        self.model = model
        self.threads = []

    def start(self, batch):
        thread = EvaluationThread(self.model, batch)
        self.threads.append(thread)
        thread.start()

    def join(self):
        for thread in self.threads:
            thread.join()
        return self.threads[-1].result.mean()


def main():
    model = torch.nn.Linear(64, 1024).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    evaluator = Evaluator(model)
    for _ in range(16):
        optimizer.zero_grad()
        model(torch.randn(8, 64, device="cuda")).square().mean().backward()
        optimizer.step()
        evaluator.start(torch.randn(256, 64, device="cuda"))
        evaluator.join()


main()
