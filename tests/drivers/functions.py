"""The recorder's table of driver functions, and the decisions about all others."""

import re

ROW = re.compile(r"X\((cu\w+),\s*(cu\w+),\s*(\d+),\s*k(\w+),")


def table(source):
    """{name: (base, first version, streams)}"""
    text = (source / "libmemprof/src/driver/table.h").read_text().replace("\\", "")
    return {name: (base, int(since), streams) for name, base, since, streams in ROW.findall(text)}


def decisions(source):
    lines = (source / "tests/drivers/decisions.txt").read_text().splitlines()
    return [name for line in lines if not line.startswith("#") for name in line.split()]
