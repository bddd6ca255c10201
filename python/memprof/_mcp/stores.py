"""What a source text says of variables: which lines put something into them, and which hand a function on. Judged line by
line, from the text alone."""
import ast
import functools
import re

_STORES = (r"\.(?P<method>append|appendleft|add|extend|insert|put|put_nowait|setdefault|update|push|set(_\w+)?|add_\w+|"
           r"register\w*|connect)\(")
_GIVEN = r"\b(insort\w*|heappush\w*)\(\s*(\w+\.)*"  # functions that put something into their first argument
_NAMED = (r"""\b(?:\w+\.)?_*setattr_*\(\s*([\w.]+),\s*["'](\w+)["'],|"""
          r"""([\w.]+)\.(?:register_buffer|register_parameter|add_module)\(\s*["'](\w+)["'],""")
_EMPTY = r"(\w+\.)*((list|dict|set|deque|Counter|[A-Z]\w*)\(\)|defaultdict\()"
MOST_NAMES = 12
_LARGEST = 256 << 10  # of a text that is parsed
_LONGEST = 500  # of a line: patterns are tried at each place, and a log may come from a stranger
_ASSIGNED, _SELF, _ONLY = 16, 20, 26


def scores(text, names):
    """How surely each line puts something into what has these names, the surest name first: {line: (score, name)}.
    A name f() stands for handing the function f on, f(...) for calling it too, @f for a decorator that caches its results,
    x.* for any call of x, self@C for handing the object itself on in class C."""
    found = {}
    given = {**_caches(text), **_selves(text)}
    text = code(text)
    methods = {match[1] for match in (re.match(r"\s*(?:async )?def (\w+)\(", line) for line in text) if match}
    text = _bodies(text)
    for place, name in [*enumerate(names[:MOST_NAMES]), *_aliases(text, names[:MOST_NAMES])]:
        lines = dict.fromkeys(given.get(name, []), _SELF if name.startswith("self@") else _ONLY) if "@" in name else \
            {number: score for number, line in enumerate(text, 1) if (score := _score(name, line, methods))}
        if sum(score >= _ASSIGNED for score in lines.values()) == 1:  # where else should it come from
            lines = {number: score if score < _ASSIGNED else max(score, _ONLY) for number, score in lines.items()}
        for number, score in lines.items():
            score = max(1, score - 2 * place)
            best, of = found.get(number, (0, name))
            # A line that has to do with several of the names is surer than with one.
            found[number] = (max(best, score) + (2 if best else 0), name if score > best else of)
    return found


def stored(text, names):
    """The lines that put something into what has these names, the surest first."""
    found = scores(text, names)
    return sorted(found, key=lambda number: (-found[number][0], number))


def code(text):
    """The lines, cut, without comments, short texts and, in Python, docstrings, which often quote code."""
    lines = [re.sub(_NAMED, r"\1\3.\2\4 = ", line[:_LONGEST]) for line in text]  # setattr(x, "y", z) is x.y = z
    lines = [re.sub(r"\"[^\"]*\"|'[^']*'", '""', line).split("#")[0] for line in lines]
    for node in _nodes(text):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines[node.lineno - 1:node.end_lineno] = [""] * (node.end_lineno - node.lineno + 1)
    return lines


def _bodies(text):
    """Without the heads of functions, whose defaults look like assignments."""
    lines, open_ = [], False
    for line in text:
        head = open_ or re.match(r"\s*(async )?def \w", line)
        open_ = bool(head) and not line.rstrip().endswith(":") and ": " not in line.partition(")")[2]
        lines.append("" if head else line)
    return lines


def takes(text, function, name):
    """Whether a function of Python's has a parameter of this name."""
    every = [node.args for node in _nodes(text)
             if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == function]
    return any(each.arg == name for part in every
               for each in [*part.posonlyargs, *part.args, *part.kwonlyargs, part.vararg, part.kwarg] if each)


def _caches(text):
    """The lines of decorators that cache results, by the name of the function."""
    found = {}
    for node in _nodes(text):
        for each in getattr(node, "decorator_list", []):
            if "cache" in text[each.lineno - 1]:
                found.setdefault(f"@{node.name}", []).append(each.lineno)
    return found


def _selves(text):
    """The lines of a class that give the object itself to something."""
    lines, found = code(text), {}
    for node in _nodes(text):
        if isinstance(node, ast.ClassDef):
            for number in range(node.lineno, node.end_lineno + 1):
                line = lines[number - 1]
                if not re.match(r"\s*(async )?def ", line) and re.search(r"=\s*self\s*$|[(,]\s*self\s*[,)]", line):
                    found.setdefault(f"self@{node.name}", []).append(number)
    return found


def _nodes(text):
    return _parsed("\n".join(text))


@functools.lru_cache(maxsize=4)
def _parsed(text):
    if len(text) > _LARGEST:
        return []
    try:
        return list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def _aliases(text, names):
    """Variables that stand for a part of one of these: x = names.setdefault(…), x = names[…]; or of which they are a part:
    for name in x."""
    for place, name in enumerate(names):
        if not name.isidentifier():
            continue
        part = rf"\s*(\w+) = (?:\w+\.)*{name}(?:\.setdefault\(|\.get\(|\[)|\s*for {name} in (?:\w+\.)*(\w+)\s*:"
        for match in filter(None, (re.match(part, line) for line in text)):
            if (match[1] or match[2]) not in names:
                yield place, match[1] or match[2]


def _score(name, line, methods):
    """How surely a line stores into a variable, or hands a function on. methods: those that the program defines: a call of
    one of these says less, because what it does is seen there."""
    if name.endswith(")"):
        return _handed(name, line)
    if name.endswith(".*"):
        return _ONLY if re.search(rf"(?<!\w){re.escape(name[:-2])}\.\w+\([^)]", line) else 0
    word = rf"(?<!\w){re.escape(name)}"
    call = re.search(rf"{word}(\[[^]]*\])*{_STORES}", line)
    if call and call["method"] in methods:
        return 12
    if call or re.search(rf"{word}(\[[^]]*\])+\s*=(?!=)", line) \
            or re.search(rf"{word}\s*(\+|\|)=", line):
        return 30
    if re.search(_GIVEN + re.escape(name) + r"\s*,", line):
        return 30
    # x = …; x, y = …; x: int = …
    target = rf"({word}|^(?!\s*(if|elif|while|for|with|return|assert)\b)[^=()]*{word}\s*,[^=()]*|{word}\s*:[^=()]*)\s*=(?!=)"
    if re.search(rf"{target}.*{word}(?!\w)", line):
        return 30  # made of what it was before
    if re.search(rf"{target}\s*(\[\]|\{{\}}|\(\)|None|field|{_EMPTY})", line):
        return 8  # made, still empty
    return _ASSIGNED if re.search(target, line) else 0


def _handed(name, line):
    word = re.escape(name.split("(")[0])
    if re.search(rf"\b(def|class|import)\b.*\b{word}\b", line):
        return 0
    if re.search(rf"(?<!\w){word}\b(?!\s*[(=.\[])", line):
        return 28
    return 24 if name.endswith("(...)") and re.search(rf"(?<!\w){word}\(", line) else 0
