#!/usr/bin/env python3
"""Writes, for the stand-in libcupti, what the toolkit's files say: weak "not supported" defaults of
every exported name, the linker's version script, and the names of result codes.

Writes into OUT: cupti_defaults.c, cupti.map, cupti_results.inc.
"""

import argparse
import os
import re

NOT_SUPPORTED = 27  # CUPTI_ERROR_NOT_SUPPORTED
NODE = "libcupti.so.13"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--exports", required=True)
    parser.add_argument("--results", required=True, help="the toolkit's cupti_result.h")
    parser.add_argument("--out", required=True)
    args = parser.parse_args()

    with open(args.exports, encoding="utf-8") as file:
        names = [line.strip() for line in file if line.strip()]
    with open(args.results, encoding="utf-8", errors="replace") as file:
        results = re.findall(r"^\s*(CUPTI_(?:SUCCESS|ERROR_\w+))\s*=\s*(\d+)", file.read(), re.M)
    assert len(results) > 40, "cupti_result.h is not as expected"

    defaults = [f"/* Generated: {NOT_SUPPORTED} is CUPTI_ERROR_NOT_SUPPORTED. */"]
    for name in names:
        # The injection entry points answer 0 = "not injected" instead.
        answer = 0 if name.startswith("InitializeInjection") else NOT_SUPPORTED
        defaults.append(f"__attribute__((weak)) int {name}(void);")
        defaults.append(f"int {name}(void) {{ return {answer}; }}")
    script = [NODE + " {", "  global:"] + [f"    {name};" for name in names]
    script += ["  local: *;", "};"]
    table = [f'{{{value}, "{name}"}},' for name, value in results]
    for name, lines in (("cupti_defaults.c", defaults), ("cupti.map", script),
                        ("cupti_results.inc", table)):
        with open(os.path.join(args.out, name), "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
