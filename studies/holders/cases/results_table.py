# half: seventh
# kind: python
# names: table
# or: rows Table
# bytes: 25165824
"""Inputs and outputs of each step become rows of a table that is sent to a server when training is over; a row has the
tensors as they are, and would be turned into pictures only then (questions on wandb.Table and memory). To change: make
the picture in add_data(), or send the table every hundred steps."""
import time

import torch


class Picture:
    def __init__(self, pixels, caption):
        self.pixels = pixels
        self.caption = caption


class Table:
    def __init__(self, columns):
        self.columns = columns
        self.rows = []

    def add_data(self, *values):
        if len(values) != len(self.columns):
            raise ValueError("a row must have a value for each column")
        self.rows.append(list(values))


class Run:
    def __init__(self):
        self.sent = {}

    def log(self, name, table):
        self.sent[name] = [len(row) for row in table.rows]


def main():
    run = Run()
    table = Table(["step", "loss", "prediction"])
    model = torch.nn.Linear(64, 1024).to("cuda")
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(24):
        prediction = model(torch.randn(256, 64, device="cuda"))
        loss = prediction.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        table.add_data(step, loss.item(), Picture(prediction.detach(), f"step {step}"))
        time.sleep(0.03)  # stands for the time of the kernels
    run.log("predictions", table)


main()
