"""Shared by the tests of scripts/gpu-check: figures in the form of guests and logs."""
import importlib.machinery
import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def event(op, address, size=0, layer="linear", api="cuMemAlloc_v2"):
    return {"op": op, "layer": layer, "device": 0, "address": address, "bytes": size, "api": api, "stack": []}


def program():
    """scripts/gpu-check as a module."""
    loader = importlib.machinery.SourceFileLoader("gpu_check_program", str(ROOT / "scripts/gpu-check"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_check_program", loader))
    loader.exec_module(module)
    return module
