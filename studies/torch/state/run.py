"""Runs one of the programs: python run.py NAME; without a name, lists them."""
import sys

import torch

import habits  # noqa: F401
import networks  # noqa: F401
from common import PROGRAMS

torch.manual_seed(0)
if len(sys.argv) < 2:
    print("\n".join(PROGRAMS))
else:
    PROGRAMS[sys.argv[1]]()
