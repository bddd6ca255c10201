#!/usr/bin/env python3
"""One training as xMem's authors did it, and what PyTorch's allocator held: one line of JSON at the end.

    train.py --model VGG16 --optimizer SGD --batch 200 [--iterations 4]

Convolutional networks: torchvision's without weights; images of 86x86, 1000 classes (10 where the authors made the
network themselves). Transformers: transformers' networks from configurations, 128 tokens.
Single precision, learning rate 0.001, gradients cleared at the start of an iteration, a scheduler, no cudnn.benchmark.

The first sample of the authors' NVML was taken when the context existed, and before the weights of a transformer, but
after those of a convolutional network and the optimizer: `first_reserved` is what the allocator held then, and
`first_beside` what else was in use: the context, and the code of kernels that have run."""
import argparse
import json
import sys

LEARNING_RATE = 0.001
# Where the gradients are cleared. The authors' third value is nowhere, so that they are added up; by the figures, their
# loop for transformers clears them at the start then too.
START, BACKWARD, NEVER = range(3)
PIXELS = 86
TOKENS = 128
TEN_CLASSES = ("MnasNet", "MobeNetV3Small", "MobeNetV3Large")
CONVOLUTIONAL = {
    "VGG11": "vgg11", "VGG16": "vgg16", "VGG19": "vgg19", "ResNet50": "resnet50", "ResNet101": "resnet101",
    "ResNet152": "resnet152", "MobileNetV2": "mobilenet_v2", "MobeNetV3Small": "mobilenet_v3_small",
    "MobeNetV3Large": "mobilenet_v3_large", "MnasNet": "mnasnet1_0", "ConvNeXtTiny": "convnext_tiny",
    "ConvNeXtBase": "convnext_base", "RegNetX400MF": "regnet_x_400mf", "RegNetX32GF": "regnet_x_32gf",
    "RegNetY400MF": "regnet_y_400mf", "RegNetY32GF": "regnet_y_32gf"}


# Of the configurations that the hubs give for these names, what differs from the library's defaults.
TRANSFORMERS = {
    "gpt2": ("GPT2", {}), "distilgpt2": ("GPT2", {"n_layer": 6}),
    "Cerebras-GPT-111M": ("GPT2", {"n_layer": 10, "n_positions": 2048, "n_inner": 3072, "activation_function": "gelu"}),
    "gpt-neo-125M": ("GPTNeo", {"hidden_size": 768, "num_layers": 12, "num_heads": 12,
                                "attention_types": [[["global", "local"], 6]]}),
    "opt-125m": ("OPT", {}),
    "opt-350m": ("OPT", {"hidden_size": 1024, "num_hidden_layers": 24, "ffn_dim": 4096, "num_attention_heads": 16,
                         "do_layer_norm_before": False, "word_embed_proj_dim": 512}),
    "T5-small": ("T5", {}),
    "t5-base": ("T5", {"d_model": 768, "d_ff": 3072, "num_layers": 12, "num_heads": 12})}


def images(model, batch):
    """The batches of a convolutional network, which are on the host."""
    import torch
    classes = 10 if model in TEN_CLASSES else 1000
    while True:
        yield torch.zeros(batch, 3, PIXELS, PIXELS), torch.randint(0, min(classes, 10), (batch,))


def train_images(arguments, device):
    import torch
    import torchvision
    options = {"num_classes": 10} if arguments.model in TEN_CLASSES else {}
    model = getattr(torchvision.models, CONVOLUTIONAL[arguments.model])(weights=None, **options)
    model.to(device)
    model.train()
    optimizer = getattr(torch.optim, arguments.optimizer)(model.parameters(), lr=LEARNING_RATE)
    torch.cuda.synchronize()
    yield
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=7, gamma=0.1)
    criterion = torch.nn.CrossEntropyLoss()
    for inputs, labels in images(arguments.model, arguments.batch):
        if arguments.zero_grad == START:
            optimizer.zero_grad()
        inputs, labels = inputs.to(device), labels.to(device)
        outputs = model(inputs)
        loss = criterion(outputs, labels)
        if arguments.zero_grad == BACKWARD:
            optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        _, predicted = torch.max(outputs, 1)
        scheduler.step()
        yield


def transformer_of(name):
    import transformers
    kind, changes = TRANSFORMERS[name]
    config = getattr(transformers, f"{kind}Config")(**changes)
    if kind == "T5":
        config.decoder_start_token_id = 0
    return getattr(transformers, "T5ForConditionalGeneration" if kind == "T5" else f"{kind}ForCausalLM" if kind != "GPT2"
                   else "GPT2LMHeadModel")(config)


def train_tokens(arguments, device):
    import torch
    model = transformer_of(arguments.model)
    yield
    model.to(device)
    model.train()
    optimizer = getattr(torch.optim, arguments.optimizer)(model.parameters(), lr=LEARNING_RATE)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=7, gamma=0.1)
    while True:
        if arguments.zero_grad != BACKWARD:
            optimizer.zero_grad()
        tokens = torch.randint(3, 1000, (arguments.batch, TOKENS))
        batch = {"input_ids": tokens, "attention_mask": torch.ones_like(tokens), "labels": tokens.clone()}
        batch = {name: tensor.to(device) for name, tensor in batch.items()}
        outputs = model(**batch)
        if arguments.zero_grad == BACKWARD:
            optimizer.zero_grad()
        outputs.loss.backward()
        optimizer.step()
        scheduler.step()
        yield


def beside():
    import torch
    free, total = torch.cuda.mem_get_info()
    return total - free - torch.cuda.memory_reserved()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--optimizer", required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--iterations", type=int, default=4)
    parser.add_argument("--zero-grad", type=int, default=START, choices=(START, BACKWARD, NEVER))
    arguments = parser.parse_args()
    import torch
    device = torch.device("cuda:0")
    torch.cuda.init()
    torch.cuda.synchronize()
    steps = (train_images if arguments.model in CONVOLUTIONAL else train_tokens)(arguments, device)
    result = {"oom": False}
    try:
        next(steps)
        result["first_reserved"], result["first_beside"] = torch.cuda.memory_reserved(), beside()
        for _ in range(arguments.iterations):
            next(steps)
        torch.cuda.synchronize()
    except torch.cuda.OutOfMemoryError:
        result["oom"] = True
    statistics = torch.cuda.memory_stats()
    result["reserved"] = statistics["reserved_bytes.all.peak"]
    result["allocated"] = statistics["allocated_bytes.all.peak"]
    result["beside"] = beside()
    result["retries"] = statistics["num_alloc_retries"]
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
