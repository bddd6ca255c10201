#!/usr/bin/env python3
"""Three steps of a training of a real model with random weights, and what PyTorch's allocator held: one line of JSON.

    train.py --model gpt2 --batch 4 [--steps 3]

Images have 224x224 pixels; texts have 128 tokens."""
import argparse
import json
import sys

TOKENS = 128
# Of the configurations that the hub gives for these names, what differs from the library's defaults.
TRANSFORMERS = {
    "gpt2": ("GPT2", "LMHeadModel", {}),
    "bert-base": ("Bert", "ForMaskedLM", {}),
    "t5-small": ("T5", "ForConditionalGeneration", {"decoder_start_token_id": 0}),
    "llama-160m": ("Llama", "ForCausalLM", {"hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12,
                                            "num_attention_heads": 12}),
    "opt-125m": ("OPT", "ForCausalLM", {}),
    "distilbert": ("DistilBert", "ForMaskedLM", {})}


def vision_model(library, name):
    if library == "timm":
        import timm
        return timm.create_model(name)
    import torchvision
    return torchvision.models.get_model(name, weights=None)


def images(model, batch, device):
    """The loss of one step after the other."""
    import torch
    criterion = torch.nn.CrossEntropyLoss()
    while True:
        inputs = torch.zeros(batch, 3, 224, 224).to(device)
        labels = torch.zeros(batch, dtype=torch.long).to(device)
        yield criterion(model(inputs), labels)


def text_model(name):
    import transformers
    kind, head, changes = TRANSFORMERS[name]
    return getattr(transformers, kind + head)(getattr(transformers, kind + "Config")(**changes))


def texts(model, batch, device):
    import torch
    while True:
        tokens = torch.zeros(batch, TOKENS, dtype=torch.long).to(device)
        yield model(input_ids=tokens, attention_mask=torch.ones_like(tokens), labels=tokens).loss


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="timm/NAME, torchvision/NAME or transformers/NAME")
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--amp", action="store_true", help="autocast to bfloat16")
    arguments = parser.parse_args()
    import torch
    device = torch.device("cuda")
    library, name = arguments.model.split("/")
    model = (text_model(name) if library == "transformers" else vision_model(library, name)).to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = (texts if library == "transformers" else images)(model, arguments.batch, device)
    for _ in range(arguments.steps):
        with torch.autocast("cuda", torch.bfloat16, enabled=arguments.amp):
            loss = next(losses)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.cuda.synchronize()
    statistics = torch.cuda.memory_stats()
    print(json.dumps({kind: statistics[f"{kind}_bytes.all.peak"] for kind in ("reserved", "allocated", "requested")}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
