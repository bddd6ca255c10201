# half: seventh
# kind: python
# names: answers
# or: scores GenerateOutput
# bytes: 25165824
"""Answers of a language model are generated during training and kept to be decoded at the end; since someone wanted to
see how sure the model is, what generate() gives is an object with the scores of the whole vocabulary for each token,
and only the sequences are used (transformers#9121 brought these outputs, and questions on the memory they need). To
change: answers.append(output.sequences.cpu())."""
import dataclasses
import time
from typing import Optional

import torch


@dataclasses.dataclass
class GenerateOutput:
    sequences: torch.Tensor
    scores: Optional[tuple] = None


@torch.no_grad()
def generate(model, embedding, prompt, max_new_tokens=8, output_scores=False):
    sequences = prompt
    scores = ()
    for _ in range(max_new_tokens):
        logits = model(embedding(sequences[:, -1]))
        if output_scores:
            scores += (logits,)
        sequences = torch.cat([sequences, logits.argmax(dim=1, keepdim=True)], dim=1)
    return GenerateOutput(sequences, scores if output_scores else None)


def main():
    embedding = torch.nn.Embedding(2048, 64).to("cuda")
    model = torch.nn.Linear(64, 2048).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    answers = []
    for _ in range(24):
        tokens = torch.zeros(16, 4, dtype=torch.long, device="cuda")
        optimizer.zero_grad()
        model(embedding(tokens[:, -1])).square().mean().backward()
        optimizer.step()
        answers.append(generate(model, embedding, tokens, output_scores=True))
        time.sleep(0.03)  # stands for the time of the kernels
    print(sum(answer.sequences.shape[1] for answer in answers), "tokens")


main()
