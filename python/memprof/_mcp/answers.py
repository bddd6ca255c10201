"""The form of every answer: facts, how sure they are, what they rest on, what to ask next. Small enough for a context."""
import json

LARGEST = 12_000  # characters of JSON: some 4,000 tokens
LONGEST = 400  # of one text: names in a log have any length
MOST_ROWS = 50


def answer(facts, confidence, cites, following=(), page=None):
    made = {"facts": facts, "confidence": confidence, "cites": cites[:8], "next": list(following)[:4]}
    if page:
        made["page"] = page
    return made


def sure(level, words):
    """level: high, medium, low or none; words: the verb's own."""
    return {"level": level, "words": words}


def ask(tool, why, **arguments):
    """A hint: which tool, with which arguments, would tell more."""
    return {"tool": tool, "arguments": {name: value for name, value in arguments.items() if value is not None},
            "why": why}


def paged(rows, limit, cursor):
    """The rows of a page, and what to say of it."""
    limit = max(1, min(int(limit), MOST_ROWS))
    cursor = max(0, int(cursor))
    return rows[cursor:cursor + limit], {"first": cursor, "total": len(rows)}


def fitted(made):
    """The text of an answer. Where it is too long, the page loses its last rows; the cursor says where it goes on."""
    made = _short(made)
    facts, page = made["facts"], made.get("page")
    rows = facts.get("rows")
    while len(_text(made)) > LARGEST and rows and len(rows) > 1:
        rows.pop()
    if page is not None and rows is not None:
        page["shown"] = len(rows)
        end = page["first"] + len(rows)
        page["next_cursor"] = end if end < page["total"] else None
    while len(_text(made)) > LARGEST:
        largest = max(facts, key=lambda name: len(_text(facts[name])))
        facts[largest] = "left out: too long for one answer"
        if len(_text(facts)) < 2000:
            break
    return _text(made)


def _text(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _short(value):
    if isinstance(value, str):
        return value if len(value) <= LONGEST else value[:LONGEST - 1] + "…"
    if isinstance(value, dict):
        return {name: _short(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_short(each) for each in value]
    return round(value, 3) if isinstance(value, float) else value
