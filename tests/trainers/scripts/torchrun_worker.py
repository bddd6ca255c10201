"""A worker of torchrun; that of rank 1 asks for too much."""

import os

import torch

import memprof


@memprof.profile(on_oom="report")
def main():
    kept = torch.empty(32 << 20, dtype=torch.uint8, device="cuda")
    if os.environ["RANK"] == "1":
        torch.empty(64 << 30, dtype=torch.uint8, device="cuda")
    del kept


main()
