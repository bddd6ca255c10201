# half: sixth
# kind: c++ python
# names: embeddings similarity
# or: similarity connection
# or: create_function
# bytes: 16777216
"""Nearest texts are sought in SQLite, with a function in Python that SQL can call; each round of training defines one
under a name of its own, with the embeddings of that round in its closure, and the connection keeps functions in C
(questions on create_function() and vectors in SQLite). To change: one name for all rounds, which replaces the old
function, or create_function(name, 1, None)."""
import sqlite3

import torch


def define_similarity(connection, name, embeddings):
    def similarity(row):
        return embeddings[row].numel()

    connection.create_function(name, 1, similarity)


def main():
    connection = sqlite3.connect(":memory:")
    connection.execute("create table texts (row integer)")
    connection.executemany("insert into texts values (?)", [(row,) for row in range(4)])
    model = torch.nn.Linear(64, 1024).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(16):
        output = model(torch.randn(256, 64, device="cuda"))
        optimizer.zero_grad()
        output.square().mean().backward()
        optimizer.step()
        define_similarity(connection, f"similarity_{step}", output.detach())
        connection.execute(f"select max(similarity_{step}(row)) from texts").fetchall()


main()
