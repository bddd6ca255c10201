"""The other file of leak_in_module.py."""


class Metrics:
    def __init__(self):
        self.n, self.predictions = 0, []

    def update(self, out, y):
        self.n += len(y)
        self.predictions.append(out.softmax(-1))  # LEAK
