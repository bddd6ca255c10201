"""Sizes, and the section of a failing test."""

import re
import shlex

from memprof._sizes import size

_UNITS = {"": 1, "B": 1}
for _power, _letter in enumerate("KMGT", 1):
    _UNITS.update({_letter: 1024 ** _power, f"{_letter}IB": 1024 ** _power, f"{_letter}B": 1000 ** _power})
_ROWS = 8


def parse_size(value):
    """Bytes of 4096, "2 GiB" or "1.5GB"; ValueError. As the command reads sizes: KiB and K are 1024, KB is 1000."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([A-Za-z]*)\s*", value) if isinstance(value, str) else None
    if match is None or match[2].upper() not in _UNITS:
        raise ValueError(f"{value!r} is no size: write 4096 or \"2 GiB\"")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def _blocks(count):
    return f"{count} block" + ("" if count == 1 else "s")


def _table(rows):
    """Lines of (bytes, blocks, site), largest first."""
    rows = sorted(rows, key=lambda row: -row[0])
    lines = [f"  {size(count):>9}  {_blocks(blocks):>10}  {site}" for count, blocks, site in rows[:_ROWS]]
    if len(rows) > _ROWS:
        lines.append(f"  {size(sum(row[0] for row in rows[_ROWS:])):>9}  at {len(rows) - _ROWS} more sites")
    return lines


def _more(verb, arguments, log):
    return [f"More: memprof {verb} {' '.join(shlex.quote(word) for word in arguments)} {shlex.quote(log or 'LOG')}"]


def peak_lines(peak, arguments, log, total=False):
    """What the peak of a test was made of; with `total` also what was there before it."""
    lines = [f"At the peak {size(peak.total)} were in use on device {peak.device}, "
             f"{size(peak.before)} of them since before the test (fixtures, other tests)."]
    if total:
        rows = [(site["after_bytes"], site["after_blocks"], site["site"]) for site in peak.sites if site["after_bytes"]]
    else:
        rows = [(site["after_bytes"] - site["before_bytes"], site["after_blocks"] - site["before_blocks"], site["site"])
                for site in peak.sites if site["after_bytes"] > site["before_bytes"]]
    if rows:
        lines += ["All of it, by call site:" if total else "The test's part, by call site:"] + _table(rows)
    categories = sorted(peak.categories(), key=lambda one: -one[1])
    if categories and categories[0][0] != "unknown":
        lines.append("All of it, by purpose: " + ", ".join(f"{name} {size(count)}" for name, count in categories[:6]))
    return lines + _more("diff", arguments, log)


def left_lines(sites, arguments, log):
    rows = [(site["after_bytes"], site["after_blocks"], site["site"]) for site in sites]
    return ["Allocated while the test ran, and alive after its teardown and gc.collect(), by call site:", *_table(rows),
            *_more("diff", arguments, log)]
