#!/usr/bin/env python3
"""What `memprof advise` predicts of changes that lower the peak of memory, and what these changes do, for real models on
the stand-in GPU.

    studies/remedies/study.py --python PYTHON [--folder DIR] [--memprof PATH] [MODEL...]

Each model trains three steps, recorded and advised. Then it trains again with each change that was advised, not recorded;
the truth is what PyTorch says of itself. PYTHON needs PyTorch 2.15, torchvision, timm and transformers. With --folder the
logs stay there, and what it has is not run again."""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# Batch and further options of train.py.
MODELS = {
    "timm/resnet50": ["32", "--optimizer=sgd"],
    "timm/efficientnet_b0": ["32", "--optimizer=adam"],
    "timm/vit_small_patch16_224": ["32"],
    "timm/convnext_tiny": ["16", "--keep-gradients"],
    "torchvision/mobilenet_v3_large": ["32", "--optimizer=sgd"],
    "transformers/gpt2": ["8"],
    "transformers/bert-base": ["2", "--optimizer=adam", "--keep-gradients"],
    "transformers/llama-160m": ["8"],
    "transformers/t5-small": ["8"],
    "transformers/opt-125m": ["1"]}
CHANGES = ("fused-step", "freed-gradients", "chunked-loss", "checkpointing", "small-batches", "small-state", "host-state")
KINDS = ("allocated", "reserved")
# train.py replaces the head and the loss of these only.
CHUNKED = ("transformers/gpt2", "transformers/bert-base", "transformers/llama-160m", "transformers/opt-125m")


def train(command, model, changes):
    """What PyTorch held, by change."""
    batch, *options = MODELS[model]
    words = [str(HERE / "train.py"), f"--model={model}", f"--batch={batch}", *options,
             *(f"--change={change}" for change in changes)]
    run = subprocess.run([*command, *words], capture_output=True, text=True,
                         env={**os.environ, "SIMCUDA": "memory=320GiB"})
    lines = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    if run.returncode != 0 or not lines:
        raise RuntimeError(f"{model}: {(run.stderr.splitlines() or ['failed'])[-1]}")
    return {line["change"]: line for line in lines}


def kept(path, make):
    """The JSON of a file, made if there is none."""
    if not path.exists():
        path.write_text(json.dumps(make()))
    return json.loads(path.read_text())


def predictions(memprof, log):
    """By change as train.py takes it: peaks, and those before."""
    answer = subprocess.run([memprof, "advise", "--json", "--top=0", str(log)], capture_output=True, text=True,
                            check=True)
    found = {}
    for finding in json.loads(answer.stdout)["findings"]:
        if finding["pattern"] not in CHANGES:
            continue
        name = finding["pattern"] + (f"={finding['module']}" if "module" in finding else "")
        found[name] = {"allocated": finding["new_peak_bytes"], "reserved": finding["new_reserved_bytes"],
                       "before": {"allocated": finding["new_peak_bytes"] + finding["saves_bytes"],
                                  "reserved": finding["reserved_bytes"]}}
    return found


def rows_of(arguments, model, folder):
    name = model.replace("/", "-")
    log = folder / f"{name}.mprof"
    recorded = [arguments.memprof, "run", "-o", str(log), "--sim=memory=320GiB", "--", arguments.python]
    truth = kept(folder / f"{name}.json", lambda: train(recorded, model, []))[""]
    found = predictions(arguments.memprof, log)
    if model not in CHUNKED:
        found.pop("chunked-loss", None)
    alone = [str(ROOT / "scripts" / "torch-sim"), "--python", arguments.python, arguments.python]
    changed = kept(folder / f"{name}-changed.json", lambda: train(alone, model, found))
    return [{"model": model, "change": change, "before": truth, "predicted": found[change], "truth": changed[change]}
            for change in found if change in changed and not changed[change].get("failed")]


def error(row, kind):
    """Of the prediction, in percent."""
    return 100 * (row["predicted"][kind] / row["truth"][kind] - 1)


def table(rows):
    lines = ["| model | change | allocated | predicted | measured | error | reserved | predicted | measured | error |",
             "|---|---|---|---|---|---|---|---|---|---|"]
    for row in rows:
        cells = [row["model"], row["change"]]
        for kind in KINDS:
            cells += [f"{figures[kind] / 2**20:,.0f}" for figures in (row["before"], row["predicted"], row["truth"])]
            cells.append(f"{error(row, kind):+.1f} %")
        lines.append("| " + " | ".join(cells) + " |")
    for kind in KINDS:
        errors = [abs(error(row, kind)) for row in rows]
        lines.append(f"{kind}: {len(errors)} predictions, median {statistics.median(errors):.1f} %, worst "
                     f"{max(errors):.1f} %, {sum(e <= 5 for e in errors)} within 5 %")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help="all if left out")
    parser.add_argument("--python", required=True)
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--memprof", default="build/bin/memprof")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.folder or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        rows = [row for model in arguments.models or MODELS for row in rows_of(arguments, model, folder)]
    print("\n".join(table(rows)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
