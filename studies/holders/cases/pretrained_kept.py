# half: first
# kind: python
# names: pretrained answer
# bytes: 16777216
"""A thread answers questions with the old model until training is done, and then waits for more for ever: its argument
`pretrained` keeps the model. Does not grow. To change: end the thread when the new model is there."""
import queue
import threading

import torch


def load():
    return torch.nn.Sequential(*(torch.nn.Linear(1024, 1024) for _ in range(4))).to("cuda")


def answer(questions, pretrained):
    while True:
        pretrained.training = questions.get()
        questions.task_done()


questions = queue.Queue()
threading.Thread(target=answer, args=(questions, load()), daemon=True).start()
model = torch.nn.Linear(1024, 16).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(16):
    loss = model(torch.randn(64, 1024, device="cuda")).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    questions.put(False)
questions.join()
