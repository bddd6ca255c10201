#!/usr/bin/env python3
"""How far `memprof footprint` is from the truth, going from small runs to a large one, for real models on the stand-in.

    scripts/torch-sim --python PYTHON studies/footprint/study.py [--set chosen|held-out] [--folder DIR]
        [--pairs] [--amp] [--memprof PATH] [MODEL…]

Each model trains three steps with batches of 2, 4, and the target (--pairs: of all powers of two between). The truth is what PyTorch says of itself. PYTHON needs
torchvision, timm and transformers. With --folder the logs stay there, and what it has is not recorded again."""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SMALL = (2, 4)
SIZES = (2, 4, 8, 16, 32, 64)  # with --pairs
# The target of each model.
MODELS = {
    "chosen": {
        "timm/resnet50": 64, "timm/efficientnet_b0": 64, "timm/vit_small_patch16_224": 64, "timm/convnext_tiny": 64,
        "timm/swin_tiny_patch4_window7_224": 64, "torchvision/densenet121": 64, "torchvision/mobilenet_v3_large": 64,
        "transformers/gpt2": 16, "transformers/bert-base": 16, "transformers/t5-small": 16},
    # Looked at once, when the rules were done.
    "held-out": {
        "timm/regnety_016": 64, "timm/mixer_b16_224": 64, "torchvision/shufflenet_v2_x1_0": 64,
        "transformers/llama-160m": 16, "transformers/opt-125m": 16}}
KINDS = ("reserved", "requested")


def record(memprof, model, batch, folder, amp=False):
    """The log, and the bytes that PyTorch counted."""
    name = f"{model.replace('/', '-')}-{batch}{'-amp' * amp}"
    log, truth = folder / f"{name}.mprof", folder / f"{name}.json"
    if not truth.exists():
        log.unlink(missing_ok=True)
        run = subprocess.run([memprof, "run", "-o", str(log), "--sim=memory=320GiB", "--", sys.executable,
                              str(HERE / "train.py"), "--model", model, "--batch", str(batch), *["--amp"] * amp],
                             capture_output=True, text=True)
        if run.returncode != 0:
            raise RuntimeError(f"{model} with {batch}: {(run.stderr.splitlines() or ['failed'])[-1]}")
        truth.write_text(run.stdout.splitlines()[-1])
    return log, json.loads(truth.read_text())


def predict(memprof, logs, batch, sizes=SMALL):
    answer = subprocess.run([memprof, "footprint", "--json", "--top=1", f"--predict={batch}",
                             "--batch=" + ",".join(map(str, sizes)), *map(str, logs)],
                            capture_output=True, text=True, check=True)
    return json.loads(answer.stdout)["devices"][0]["predictions"][0]


def pairs_of(target, all_pairs):
    """Small sizes and a larger one."""
    if not all_pairs:
        return [(SMALL, target)]
    sizes = [batch for batch in SIZES if batch <= target]
    return [(pair, larger) for pair in zip(sizes, sizes[1:]) for larger in sizes if larger > pair[1]]


def row_of(memprof, model, target, folder, small=SMALL, amp=False):
    logs = [record(memprof, model, batch, folder, amp)[0] for batch in small]
    truth = record(memprof, model, target, folder, amp)[1]
    prediction = predict(memprof, logs, target, small)
    return {"model": model, "small": small, "target": target, "truth": truth,
            "predicted": {kind: prediction[f"{kind}_bytes"] for kind in KINDS},
            "range": prediction.get("range_bytes")}


def error(row, kind):
    """Of the prediction, in percent."""
    return 100 * (row["predicted"][kind] / row["truth"][kind] - 1)


def within(row):
    """Whether the truth is in the range that was given; None without one."""
    if row["range"] is None:
        return None
    return abs(row["predicted"]["reserved"] - row["truth"]["reserved"]) <= row["range"]


def table(rows):
    lines = [f"{'model':36}{'batches':>12}{'reserved':>12}{'predicted':>12}{'error':>9}{'range':>10}   {'requested':>9}"]
    for row in rows:
        real, guess = row["truth"]["reserved"], row["predicted"]["reserved"]
        spread = "-" if row["range"] is None else f"{row['range'] / 2**20:.0f} MiB"
        batches = ",".join(map(str, row["small"])) + f" -> {row['target']}"
        lines.append(f"{row['model']:36}{batches:>12}{real / 2**20:8.0f} MiB{guess / 2**20:8.0f} MiB"
                     f"{error(row, 'reserved'):+8.2f}%{spread:>10} {'out' if within(row) is False else '   '}"
                     f"{error(row, 'requested'):+8.2f}%")
    for kind in KINDS:
        errors = [abs(error(row, kind)) for row in rows]
        lines.append(f"{kind}: median {statistics.median(errors):.2f} %, worst {max(errors):.2f} %")
    judged = [within(row) for row in rows if within(row) is not None]
    if judged:
        lines.append(f"within the range: {sum(judged)} of {len(judged)}")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help="all of the set if left out")
    parser.add_argument("--set", choices=MODELS, default="chosen")
    parser.add_argument("--pairs", action="store_true",
                        help="from each two neighbours of 2, 4, 8, ... to all larger ones, up to the target")
    parser.add_argument("--amp", action="store_true", help="with autocast to bfloat16")
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--memprof", default="build/bin/memprof")
    arguments = parser.parse_args()
    wanted = {model: batch for model, batch in MODELS[arguments.set].items()
              if not arguments.models or model in arguments.models}
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.folder or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        rows = [row_of(arguments.memprof, model, target, folder, small, arguments.amp) for model, batch in wanted.items()
                for small, target in pairs_of(batch, arguments.pairs)]
    print("\n".join(table(rows)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
