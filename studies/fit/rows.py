"""The rows of the study: facts that xMem's authors published about trainings on real GPUs.

    rows.py --checkout XMEM [--sample N --seed S] [--set NAME] [--into rows.csv]

reads evaluation_result.json of a checkout of github.com/Stone-ResearchLife/xMem (plot/data, plot/data_new), and writes
a sample of them as rows; the repository itself is not needed to run the study."""
import argparse
import csv
import json
import pathlib
import random
import re
import sys
from typing import NamedTuple, Optional

ROWS = pathlib.Path(__file__).resolve().parent / "rows.csv"
SETS = ("train", "first", "second", "more", "third", "fourth")
FACTS = 10  # of the fields of a row, those that are not of a tool
TOOLS = {"xmem": "solution", "dnnmem": "DNNmem", "schedtune": "SchedTune", "llmem": "LLmem"}
GPUS = {"NVIDIA GeForce RTX 3060": "3060", "NVIDIA GeForce RTX 4060": "4060"}


class Row(NamedTuple):
    id: str  # experiment and the authors' number
    # train: looked at while the estimate was made; first: judged its first version; second: its second;
    # more: looked at before the third; third: judged that; fourth: judged it again
    set: str
    model: str
    optimizer: str
    batch: int
    input: str
    gpu: str
    truth: int  # bytes: NVML's maximum less its first sample
    oom: bool  # the real run ran out of memory
    zero_grad: int  # where the gradients are cleared: see train.py
    estimates: dict  # of tool: bytes, or None
    verdicts: dict  # of tool: whether it predicted that memory runs out, or None


def number(text):
    return int(float(text)) if text not in ("", None) else None


def verdict(text):
    return bool(int(text)) if text not in ("", None) else None


def read_rows(path=ROWS):
    with open(path, newline="", encoding="utf-8") as file:
        return [Row(line["id"], line["set"], line["model"], line["optimizer"], int(line["batch"]), line["input"],
                    line["gpu"], int(line["truth"]), verdict(line["oom"]), int(line["zero_grad"]),
                    {tool: number(line[tool]) for tool in TOOLS},
                    {tool: verdict(line[tool + "_oom"]) for tool in TOOLS}) for line in csv.DictReader(file)]


def write_rows(rows, path):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*Row._fields[:FACTS], *TOOLS, *(tool + "_oom" for tool in TOOLS)])
        for row in rows:
            shown = ["" if value is None else int(value) if isinstance(value, bool) else value for value in
                     (*row[:FACTS], *(row.estimates[tool] for tool in TOOLS), *(row.verdicts[tool] for tool in TOOLS))]
            writer.writerow(shown)


def row_of(text, name, group) -> Optional[Row]:
    """The row of one evaluation_result.json; None if it lacks the truth."""
    data = json.loads(text)
    info = data["train info"]
    known = {tool: data[key] for tool, key in TOOLS.items() if isinstance(data.get(key), dict)}
    truth = next((one["ground"] for one in known.values() if one.get("ground")), None)
    if truth is None or info["gpu_name"] not in GPUS:
        return None
    size = info.get("input_size") or []
    oom = any(one.get("real_oom") for one in known.values())
    return Row(name, group, info["model"].split("/")[-1], info["optimiser"], info["batch_size"],
               f"{size[0]}x{size[1]}" if len(size) > 1 else "128", GPUS[info["gpu_name"]], int(truth), oom,
               info.get("zero_grad_mode") or 0,
               {tool: number(known.get(tool, {}).get("memory")) for tool in TOOLS},
               {tool: known.get(tool, {}).get("oom") for tool in TOOLS})


def name_of(path):
    """M/001/f8b5 of data/002-Monte Carlo/CNN/001/MobeNetV3Large_SGD_603_1_f8b5/GPU/FILE, M/new/… of data_new/…/CNN/…"""
    *_, group, run, _, _ = parts = pathlib.Path(path).parts
    experiment = next(part for part in parts if part[:3].isdigit() and part[3:4] == "-")
    return f"{experiment[4]}/{group if group.isdigit() else 'new'}/{re.split('[_-]', run)[-1]}"


def training(row):
    """Runs of one training hold the same bytes."""
    return row.model, row.optimizer, row.batch, row.gpu, row.zero_grad


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkout", required=True, type=pathlib.Path)
    parser.add_argument("--sample", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--set", default="third")
    parser.add_argument("--into", type=pathlib.Path, default=ROWS)
    arguments = parser.parse_args()
    known = read_rows(arguments.into) if arguments.into.exists() else []
    paths = sorted((arguments.checkout / "plot").rglob("evaluation_result.json"))
    random.Random(arguments.seed).shuffle(paths)
    made = {training(row): row for row in known}
    for path in paths:
        if len(made) == len(known) + arguments.sample:
            break
        row = row_of(path.read_text(), name_of(path), arguments.set)
        if row:
            made.setdefault(training(row), row)
    write_rows(made.values(), arguments.into)
    return 0


if __name__ == "__main__":
    sys.exit(main())
