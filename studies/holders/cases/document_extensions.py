# half: sixth
# kind: python
# names: user_data corpus
# or: user_data Doc
# or: trf_data corpus
# bytes: 16777216
"""A document can be extended by any attribute below `doc._`, which looks like a plain attribute and is an entry of a
dict of the document; the documents of a corpus stay until the end, and one part of the pipeline leaves the output of
its model at each (spaCy#9086). To change: doc._.trf_data = None after the last part that needs it."""
import torch


class Underscore:
    def __init__(self, doc):
        object.__setattr__(self, "doc", doc)

    def __setattr__(self, name, value):
        self.doc.user_data["._.", name, None, None] = value

    def __getattr__(self, name):
        return self.doc.user_data["._.", name, None, None]


class Doc:
    __slots__ = ("text", "user_data")

    def __init__(self, text):
        self.text = text
        self.user_data = {}

    @property
    def _(self):
        return Underscore(self)


class Pipeline:
    def __init__(self):
        self.encoder = torch.nn.Linear(64, 1024).to("cuda")
        self.head = torch.nn.Linear(1024, 4).to("cuda")
        self.optimizer = torch.optim.SGD(self.head.parameters(), lr=0.1)

    def update(self, doc):
        with torch.no_grad():
            doc._.trf_data = self.encoder(torch.randn(256, 64, device="cuda"))
        self.optimizer.zero_grad()
        self.head(doc._.trf_data).square().mean().backward()
        self.optimizer.step()


def train(pipeline, corpus):
    for doc in corpus:
        pipeline.update(doc)


train(Pipeline(), tuple(Doc(f"text {number}") for number in range(16)))
