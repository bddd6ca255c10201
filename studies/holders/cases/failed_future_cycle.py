# half: fifth
# kind: cycle
# names: future run_job
# bytes: 16777216
"""A home-made executor hands errors to the caller by future.set_exception(); the error has the frame of the job, and
the frame below it the future, so an answer that failed keeps all that the job had until the collector comes (reports on
futures and tracebacks, against which the standard library deletes its local variables). The threshold of the collector
was raised. To change: `del future` in a finally clause."""
import concurrent.futures
import gc

import torch


class InlineExecutor:
    def submit(self, job, *arguments):
        future = concurrent.futures.Future()
        self.run_job(future, job, arguments)
        return future

    def run_job(self, future, job, arguments):
        try:
            future.set_result(job(*arguments))
        except RuntimeError as error:
            future.set_exception(error)


def evaluate(model, classes):
    with torch.no_grad():
        outputs = model(torch.randn(256, 64, device="cuda"))
    return outputs.view(-1, classes).mean(0)


def main():
    executor = InlineExecutor()
    model = torch.nn.Linear(64, 1024).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    failures = 0
    for step in range(16):
        optimizer.zero_grad()
        model(torch.randn(32, 64, device="cuda")).square().mean().backward()
        optimizer.step()
        failures += executor.submit(evaluate, model, 1000).exception() is not None


gc.set_threshold(1000000)
main()
