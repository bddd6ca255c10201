# half: fifth
# kind: python
# names: callbacks canvas
# or: callbacks Canvas
# or: image on_move
# bytes: 16777216
"""A panel shows the value under the mouse, by a function that has the image as a default of its argument; each new
image connects one more function, and the canvas keeps them all by number (cdtools#87). To change: disconnect the
function of the image before."""
import collections
import itertools

import torch


class Canvas:
    def __init__(self):
        self.callbacks = collections.defaultdict(dict)
        self.numbers = itertools.count()

    def connect(self, event, function):
        number = next(self.numbers)
        self.callbacks[event][number] = function
        return number


class Panel:
    def __init__(self, canvas):
        self.canvas = canvas
        self.title = ""

    def show(self, image, title):
        def on_move(row, column, *, image=image):
            return f"{self.title}: {image[row, column]:.3f}"

        self.title = title
        self.canvas.connect("move", on_move)


panel = Panel(Canvas())
model = torch.nn.Linear(64, 1024).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(16):
    output = model(torch.randn(256, 64, device="cuda"))
    optimizer.zero_grad()
    output.square().mean().backward()
    optimizer.step()
    panel.show(output.detach(), f"step {step}")
