#!/usr/bin/env python3
"""BERT-large in single and in half precision, as the documentation of transformers trained it on a V100 of 16 GB
(v4.21.0, "Efficient Training on a Single GPU"; figures of January 2022), on the stand-in.

    bert.py [--memprof PATH] [--python PATH] [ROW…]

Prints what NVML showed beyond the context and the code, of which the page says what they took, and what PyTorch's
allocator held here. PyTorch was 1.10 there: here gradients are cleared and softmax saves as in it, and the optimizer
takes one parameter at a time. The same Python as for study.py."""
import argparse
import contextlib
import json
import subprocess
import sys
import tempfile

TOKENS, STEPS = 512, 3
# "Just the kernels": 1,343 MB, with one segment of PyTorch's.
BESIDE_MIB = 1343 - 2
# name: (NVML's figure, batch, forward passes a step, checkpointing, half precision, optimizer)
ROWS = {"plain": (14949, 4, 1, False, False, "adamw"), "accumulated": (8681, 1, 4, False, False, "adamw"),
        "checkpointed": (6775, 1, 4, True, False, "adamw"), "fp16": (13939, 4, 1, False, True, "adamw"),
        "fp16-checkpointed": (7275, 1, 4, True, True, "adamw"), "adafactor": (12295, 4, 1, False, False, "adafactor"),
        "fp16-adafactor": (4847, 1, 4, True, True, "adafactor")}


def optimizer_of(name, parameters):
    if name == "adamw":
        import torch
        return torch.optim.AdamW(parameters, lr=5e-5, foreach=False)
    import transformers.optimization
    return transformers.optimization.Adafactor(parameters, lr=5e-5, scale_parameter=False, relative_step=False)


def softmax_of_1_10():
    """Up to 1.10, softmax kept its input for the backward pass, too (derivatives.yaml)."""
    import torch

    class Softmax(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cuda", cast_inputs=torch.float32)
        def forward(context, values):
            result = torch._softmax(values, -1, False)
            context.save_for_backward(result, values)
            return result

        @staticmethod
        @torch.amp.custom_bwd(device_type="cuda")
        def backward(context, gradient):
            result, values = context.saved_tensors
            return torch._softmax_backward_data(gradient, result, -1, values.dtype)

    return lambda values, dim=-1, **_: Softmax.apply(values)


def train(name):
    import torch
    import transformers
    torch.nn.functional.softmax = softmax_of_1_10()
    _, batch, passes, checkpointing, half, optimizer = ROWS[name]
    config = transformers.BertConfig(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16,
                                     intermediate_size=4096, attn_implementation="eager")
    with torch.device("cuda"):
        model = transformers.BertForSequenceClassification(config)
    model.train()
    if checkpointing:
        model.gradient_checkpointing_enable()
    optimizer = optimizer_of(optimizer, model.parameters())
    scaler = torch.amp.GradScaler("cuda", enabled=half)
    for _ in range(STEPS):
        for _ in range(passes):
            tokens = torch.randint(100, 30000, (batch, TOKENS)).cuda()
            labels = torch.zeros(batch, dtype=torch.long).cuda()
            with torch.autocast("cuda", torch.float16) if half else contextlib.nullcontext():
                loss = model(input_ids=tokens, labels=labels).loss / passes
            scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        model.zero_grad(set_to_none=False)
    print(json.dumps({"reserved": torch.cuda.max_memory_reserved()}))


def run_row(name, memprof, python):
    """The MiB that PyTorch reserved on the stand-in."""
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([memprof, "run", "--sim=gpu=V100-16GB", "-o", f"{folder}/x.mprof", "--", python, __file__,
                              "--train", name], capture_output=True, text=True)
    if run.returncode:
        raise SystemExit(f"{name}: status {run.returncode}: {run.stderr[-500:]}")
    return json.loads(run.stdout.splitlines()[-1])["reserved"] >> 20


def line_of(name, here):
    there = ROWS[name][0] - BESIDE_MIB
    return f"{name:18}{there:7} MiB there {here:7} MiB here {100 * (here - there) / there:+6.1f} %"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ROW", choices=[*ROWS, []])
    parser.add_argument("--train", choices=ROWS, help=argparse.SUPPRESS)
    parser.add_argument("--memprof", default="build/bin/memprof")
    parser.add_argument("--python", default="build/torch/venv-torch__2.6.0/bin/python")
    arguments = parser.parse_args()
    if arguments.train:
        train(arguments.train)
        return 0
    for name in arguments.rows or ROWS:
        print(line_of(name, run_row(name, arguments.memprof, arguments.python)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
