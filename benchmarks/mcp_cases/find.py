#!/usr/bin/env python3
"""A client without any judgement of its own: it begins with list_runs, and then makes the first call that an answer
proposes in `next` and that was not made yet. Its verdict are the lines of the last answer that points at any, at most
three. Found: the known line is among them; first: it is the first of them.

usage: find.py --memprof build/bin/memprof --demo build/bin/demo_trainer RECORDED [CASE…]

RECORDED is what record.py made. Needs the SDK (pip install mcp)."""
import argparse
import asyncio
import json
import os
import pathlib
import subprocess
import sys
import time

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

import cases

CALLS = 10
ROOT = pathlib.Path(__file__).resolve().parents[2]


async def ask(options, case):
    """The verdict, and the calls that led to it."""
    source = case.program.parent if case.program else cases.DEMO
    words = ["-m", "memprof._mcp", str(options.recorded / case.name), "--source", str(source)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "MEMPROF_COMMAND": options.memprof}
    verdict, calls, largest = [], [], 0
    pending = [{"tool": "list_runs", "arguments": {}}]
    async with stdio_client(StdioServerParameters(command=sys.executable, args=words, env=environment)) as streams:
        async with ClientSession(*streams) as session:
            await session.initialize()
            while pending and len(calls) < CALLS:
                hint = pending.pop(0)
                call = (hint["tool"], json.dumps(hint["arguments"], sort_keys=True))
                if call in calls:
                    continue
                calls.append(call)
                result = await session.call_tool(hint["tool"], hint["arguments"])
                text = result.content[0].text
                largest = max(largest, len(text))
                if getattr(result, "is_error", getattr(result, "isError", False)):
                    raise RuntimeError(f"{call}: {text}")
                answer = json.loads(text)
                lines = answer["facts"].get("lines")
                if lines:
                    verdict = lines
                # What an answer proposes is more to the point than what earlier ones did, but ends when it proposes nothing.
                pending = answer["next"]
    return verdict, calls, largest


def place(case, verdict):
    """The known line's place in the verdict, 1 the first; 0 if it is not there."""
    for number, line in enumerate(verdict[:3], 1):
        if os.path.basename(line["file"]) == case.file and line["line"] in case.lines:
            return number
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--memprof", required=True)
    parser.add_argument("--demo", required=True)
    parser.add_argument("--trace", action="store_true", help="print the calls of each case")
    parser.add_argument("recorded", type=pathlib.Path)
    parser.add_argument("only", nargs="*", metavar="CASE")
    options = parser.parse_args()
    table = subprocess.run([options.demo, "--leak", "list"], capture_output=True, text=True, check=True).stdout
    every = [case for case in [*cases.made(), *cases.held(), *cases.seeded(table)]
             if (options.recorded / case.name).is_dir() and (not options.only or case.name in options.only)]
    places, most, longest, begun = [], 0, 0, time.monotonic()
    for case in every:
        try:
            verdict, calls, largest = asyncio.run(ask(options, case))
        except Exception as error:  # a failed call is a miss, and is shown
            verdict, calls, largest = [], [], 0
            print(f"  {case.name}: {getattr(error, 'exceptions', [error])[0]}", file=sys.stderr)
        places.append(place(case, verdict))
        most, longest = max(most, len(calls)), max(longest, largest)
        shown = ", ".join(f"{os.path.basename(line['file'])}:{line['line']}" for line in verdict)
        wanted = f"{case.file}:{case.lines[0]}" + (f"-{case.lines[-1]}" if len(case.lines) > 1 else "")
        print(f"{'MISS ' if not places[-1] else 'first' if places[-1] == 1 else 'found'}  {case.name:30} {len(calls)} "
              f"calls  wanted {wanted}  verdict {shown}")
        if options.trace:
            print("".join(f"         {tool} {arguments}\n" for tool, arguments in calls), end="")
    found, first = sum(map(bool, places)), places.count(1)
    if not every:
        sys.exit("find: no case is recorded there; see record.py")
    print(f"{found} of {len(every)} found ({found / len(every):.0%}), {first} as the first line; at most {most} calls, answers of at "
          f"most {longest} characters, {(time.monotonic() - begun) / len(every):.1f} s a case")
    return 0 if found >= 0.9 * len(every) else 1


if __name__ == "__main__":
    sys.exit(main())
