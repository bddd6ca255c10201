# half: sixth
# kind: python
# names: counts
# or: vector Word
# bytes: 16777216
"""The words of a text are strings that have a vector as an attribute, so that all old code for strings goes on working;
the words are counted, and the keys of a counter are the words themselves (questions on subclasses of str, and on
embeddings that tokens keep on the GPU). To change: count str(word), without the vector."""
import collections

import torch


class Word(str):
    vector = None


def embed(model, texts):
    vectors = model(torch.randn(len(texts), 64, device="cuda"))
    words = []
    for text, vector in zip(texts, vectors.detach().clone().split(1)):
        word = Word(text)
        word.vector = vector
        words.append(word)
    return words, vectors


model = torch.nn.Linear(64, 1024).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
counts = collections.Counter()
for step in range(16):
    words, vectors = embed(model, [f"word{step}_{place}" for place in range(256)])
    optimizer.zero_grad()
    vectors.square().mean().backward()
    optimizer.step()
    counts.update(words)
