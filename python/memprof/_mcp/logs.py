"""The logs that may be read: those below the folders that the user named. A tool's argument is looked up among them and
never made into a path, so no argument leads elsewhere."""
import os

from .errors import McpError

MOST = 10_000
TOGETHER = 255  # memprof reads no more logs at once
ENDING = ".mprof"


class Logs:
    def __init__(self, places):
        self.places = [os.path.realpath(place) for place in places]
        for given, place in zip(places, self.places):
            if not os.path.exists(place):
                raise McpError(f"{given}: there is no such file or folder")

    def listed(self):
        """The path of each log by its name: what follows the folder, with the folder's own name where two are alike."""
        found = {}
        for place in self.places:
            for path in _below(place):
                name = os.path.basename(path) if path == place else os.path.relpath(path, place)
                if found.get(name, path) != path:
                    name = f"{os.path.basename(place)}/{name}"
                if found.get(name, path) != path:
                    name = path
                found[name] = path
                if len(found) >= MOST:
                    return found
        return found

    def paths(self, name):
        """Of one log, or of all logs directly in a folder, whose name ends with a slash ("./": the given one)."""
        listed = self.listed()
        if name in listed:
            return [listed[name]]
        if name.endswith("/"):
            folder = "" if name == "./" else name[:-1]
            inside = [path for each, path in sorted(listed.items()) if os.path.dirname(each) == folder]
            if len(inside) > TOGETHER:
                raise McpError(f"{_shown(name)}: {len(inside)} logs; at most {TOGETHER} can be read together")
            if inside:
                return inside
        raise McpError(f"{_shown(name)}: no such log; list_runs names those that can be read")


def _shown(name):
    return ascii(name[:200])[1:-1]


def _below(place):
    if os.path.isfile(place):
        yield place
        return
    for folder, folders, files in os.walk(place):  # does not follow links to folders
        folders.sort()
        for name in sorted(files):
            path = os.path.join(folder, name)
            # A link could lead out of the folder.
            if name.endswith(ENDING) and os.path.isfile(path) and not os.path.islink(path):
                yield path
