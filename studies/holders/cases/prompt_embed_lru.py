# half: third
# kind: python
# names: embeds
# or: encode_prompt
# bytes: 16777216
"""Embeddings of prompts are in a cache of the least recently used kind, an OrderedDict with a limit; but the limit is
4096 prompts, and was meant in MiB (SimpleTuner#243, diffusers#10078). The cache is a variable of the function that made
the encoder. To change: a limit in bytes, or embeddings on the CPU."""
import collections

import torch


def make_prompt_encoder(encoder, limit):
    embeds = collections.OrderedDict()

    def encode_prompt(prompt):
        if prompt in embeds:
            embeds.move_to_end(prompt)
        else:
            with torch.no_grad():
                embeds[prompt] = encoder(torch.randn(256, 64, device="cuda"))
            if len(embeds) > limit:
                embeds.popitem(last=False)
        return embeds[prompt]

    return encode_prompt


def train(encode_prompt):
    model = torch.nn.Linear(1024, 8).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(16):
        optimizer.zero_grad()
        model(encode_prompt(f"a photo of {step} cats")).square().mean().backward()
        optimizer.step()


text_encoder = torch.nn.Linear(64, 1024).to("cuda")
prompts = make_prompt_encoder(text_encoder, limit=4096)
train(prompts)
