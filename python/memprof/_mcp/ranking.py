"""The lines to look at for memory that something keeps, the likeliest first: those that store it, as the source and the
holder's path say it, and those that made it, as the stacks say it. Each with its evidence."""
from . import frames, source_text, stores

MOST_FILES = 4
_MADE, _MADE_KEEPER, _ASSIGNED, _CONTAINER = 19, 23, 24, 6
_ON_STACK = 6
_BOTH = 3
_CONTAINERS = ("list", "dict", "tuple", "set", "frozenset", "deque", "defaultdict", "OrderedDict")


class _Lines:
    def __init__(self):
        self.scores = {}  # by file and line: score, evidence, line

    def add(self, line, score, words):
        key = (line["file"].rsplit("/", 1)[-1], line["line"])
        best = self.scores.setdefault(key, [0, [], line])
        # Two kinds of evidence are surer than one.
        best[0] = max(best[0], score) + (_BOTH if best[0] >= _BOTH and score >= _BOTH else 0)
        if words not in best[1]:
            best[1].append(words)

    def raise_(self, line, more, words):
        best = self.scores.get((line["file"].rsplit("/", 1)[-1], line["line"]))
        if best and words not in best[1]:
            best[0] += more
            best[1].append(words)

    def sorted(self):
        ordered = sorted(self.scores.values(), key=lambda each: -each[0])
        return [{"file": line["file"], "line": line["line"], "evidence": "; ".join(words)} for _, words, line in ordered]


def of_kept(desk, log, number):
    """The lines of what stays, by its number among Desk.kept."""
    entries = desk.kept(log)
    entry = entries[number]
    holders = frames.alike(entry.get("holders") or [])
    if not holders:
        return frames.lines_of([entry])
    return ranked(entry, holders[0], entries, lambda file: source_text.lines(desk, log, file)[0])


def ranked(entry, holder, others, read):
    """entry: what stays, as the verb tells it; others: what else stays; read(file): the text's lines, none if unknown."""
    lines = _Lines()
    site = frames.line_of(entry)
    stack = frames.own_lines(entry)
    places = frames.holder_lines(holder, site)
    files = list(dict.fromkeys([*(line["file"] for line in stack), *(line["file"] for line in places)]))[:MOST_FILES]
    for file in files:
        text = read(file)
        for number, (score, name) in stores.scores(text, frames.holder_names(holder, text)).items():
            lines.add({"file": file, "line": number}, score, _words(name))
        for other in _graph_keepers(holder, others):
            for number, (score, name) in stores.scores(text, frames.holder_names(other, text)).items():
                lines.add({"file": file, "line": number}, score - 2, f"stores into {name}, which grows too: it may keep the graph")
    assigned = frames.assigned_lines(holder, site)
    if assigned:
        whole = holder["path"].split(" ")[0] in _CONTAINERS or "]`" in holder["path"].split(" (")[0]
        lines.add(assigned[0], _CONTAINER if whole else _ASSIGNED, "assigned here, as the process said")
    for each in places:
        lines.add(each, 1, "on the holder's path")
    keepers = _made_keeper(holder, others)
    for line in keepers:
        lines.add(line, _MADE_KEEPER, "makes the tensor whose graph keeps it")
    if site and not any(frames.same_line(site, line) for line in keepers):
        lines.add(site, _MADE, "made here")
    for line in stack:
        lines.raise_(line, _ON_STACK, "on the stack of the allocation")
    return lines.sorted()


def _graph_keepers(holder, others):
    """Of memory that a hook of a graph keeps, which does not say whose graph: what keeps other growing tensors."""
    if "(hooks of a graph of autograd)" not in holder["path"]:
        return []
    firsts = [frames.alike(other.get("holders") or [])[:1] for other in others]
    return [each for first in firsts for each in first if each["kind"] == "python"][:2]


def _words(name):
    if name.startswith("self@"):
        return f"hands on self, of {name[5:]} in the cycle"
    if name.startswith("@"):
        return f"caches the results of {name[1:]}"
    if name.endswith(".*"):
        return f"calls {name[:-2]}, in which it is"
    return f"hands on {name}" if name.endswith(")") else f"stores into {name}"


def _made_keeper(holder, others):
    """Of memory that a graph keeps: where the tensor was made that has the graph."""
    _, graph, keeper = holder["path"].partition(" for the graph of ")
    if not graph:
        return []
    alike = frames.without_keys(keeper)
    return [line for other in others if (line := frames.line_of(other))
            for each in other.get("holders") or [] if frames.without_keys(each["path"]) == alike][:2]
