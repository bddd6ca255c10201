"""The questions: SQL files, each with a head that says what it answers."""
import collections
import os
import re

from .errors import FleetError

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "questions")
UNITS = {"text", "log", "count", "step", "number", "bytes", "bytes/step", "bytes/s", "share", "ns", "hours", "bool"}

Column = collections.namedtuple("Column", "name unit")
Parameter = collections.namedtuple("Parameter", "name default words")
Question = collections.namedtuple("Question", "name title answers columns parameters next sql")


def names():
    return sorted(name[:-4] for name in os.listdir(FOLDER) if name.endswith(".sql"))


def _default(text):
    """'' is text, 3 an integer, 3.5 a number."""
    if text.startswith("'"):
        return text.strip("'")
    return float(text) if "." in text else int(text)


def parse(name, text):
    lines = re.findall(r"^-- ?(.*)$", text, re.M)
    head = collections.defaultdict(list)
    key = None
    for line in lines:
        found = re.match(r"([a-z]+): *(.*)$", line)
        if found:
            key = found.group(1)
            head[key].append(found.group(2))
        elif key:
            head[key][-1] += " " + line.strip()
    try:
        columns = [Column(*column.split()) for column in head["columns"][0].split(",")]
        parameters = []
        for line in head["parameter"]:
            parameter, default, words = line.split(None, 2)
            parameters.append(Parameter(parameter, _default(default), words))
        return Question(name, head["title"][0], head["answers"][0], columns, parameters, head["next"][0],
                        re.sub(r"^--.*\n", "", text, flags=re.M))
    except (IndexError, TypeError, ValueError) as error:
        raise FleetError(f"{name}.sql: its head cannot be read: {error}") from None


def load(name):
    if name not in names():
        import difflib

        near = difflib.get_close_matches(name, names(), 1)
        raise FleetError(f"no question is named {name}" + (f"; did you mean {near[0]}?" if near else
                                                          f"; there are {', '.join(names())}"))
    with open(os.path.join(FOLDER, name + ".sql"), encoding="utf-8") as file:
        return parse(name, file.read())


def values(question, settings):
    """{parameter: value}, from texts NAME=VALUE where they name it."""
    found = {parameter.name: parameter.default for parameter in question.parameters}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or name not in found:
            have = ", ".join(found) or "none"
            raise FleetError(f"--set {setting}: {question.name} has the parameters NAME=VALUE of: {have}")
        try:
            found[name] = type(found[name])(text)
        except ValueError:
            raise FleetError(f"--set {setting}: {text!r} is no {'integer' if type(found[name]) is int else 'number'}") \
                from None
    return found


def written(sql, parameters, mark):
    """The SQL with `mark` before the names of parameters, where it has ':'."""
    for name in parameters:
        sql = re.sub(rf"(?<![:\w]):{name}\b", mark + name, sql)
    return sql
