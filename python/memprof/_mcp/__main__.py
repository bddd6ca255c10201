"""memprof mcp: answers about logs, for agents, over standard input and output. docs/mcp.md says more."""
import argparse
import os
import shutil
import sys

from .errors import McpError


def parsed(arguments):
    parser = argparse.ArgumentParser(prog="memprof mcp", description="Answers about logs, for agents.")
    parser.add_argument("places", nargs="*", default=["."], metavar="FOLDER|LOG")
    parser.add_argument("--source", metavar="DIR")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--skill", action="store_true")
    return parser.parse_intermixed_args(arguments)


def main(arguments=None):
    arguments = sys.argv[1:] if arguments is None else arguments
    options = parsed(arguments)
    if options.skill:
        with open(os.path.join(os.path.dirname(__file__), "SKILL.md"), encoding="utf-8") as skill:
            sys.stdout.write(skill.read())
        return 0
    try:
        from . import server
        from .desk import Desk
        from .logs import Logs
        from .verbs import Verbs

        server.sdk()
        source = os.path.realpath(options.source) if options.source else None
        if source and not os.path.isdir(source):
            raise McpError(f"{options.source}: there is no such folder")
        command = os.environ.get("MEMPROF_COMMAND") or shutil.which("memprof")
        if not command:
            raise McpError("there is no command memprof on PATH")
        server.make(Desk(Logs(options.places or ["."]), Verbs(command, options.seconds), source)).run()
    except McpError as error:
        print(f"memprof mcp: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
