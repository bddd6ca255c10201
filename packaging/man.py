#!/usr/bin/env python3
"""Writes the man pages: memprof.1, one for each verb, and memprof-viewer.1, from the programs' --help."""
import argparse
import pathlib
import re
import sys

import help as helps
import man_sections as sections

_ESCAPES = {"\\": r"\e", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti", "…": "..."}
_UNITS = r"%|[KMGT]?i?B|[mun]?s|seconds?"


def escape(text):
    """Text as roff: a hyphen that can be copied, and a figure that stays on one line with its unit."""
    text = "".join(_ESCAPES.get(c, c if ord(c) < 128 else f"\\[u{ord(c):04X}]") for c in text)
    text = re.sub(rf"(\d) ({_UNITS})(?!\w)", r"\1\\ \2", text)
    return "\\&" + text if text.startswith(".") else text


def mark(pattern, font, text):
    """Text as roff, with the matches of the pattern in a font."""
    parts = re.split(f"({pattern})", text)
    return "".join(f"\\f{font}{escape(part)}\\fR" if i % 2 else escape(part) for i, part in enumerate(parts) if part)


def sentence(text):
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?", "!")) or not text else ".")


def prose(text):
    return mark(r"'memprof[^']*'|(?<![\w-])--[a-z][\w-]*", "B", text).replace(r"\fB\(aq", r"\fB").replace(
        r"\(aq\fR", r"\fR")


def option_names(option):
    names = ", ".join(f"\\fB{escape(name)}\\fR" for name in option.names)
    if not option.value:
        return names
    is_literal = "|" in option.value or option.value.islower()
    value = mark(r"[\w-]+" if is_literal else r"[A-Za-z]+", "B" if is_literal else "I", option.value)
    return f"{names}[={value}]" if option.value_is_optional else f"{names}={value}"


def tagged(pairs):
    for left, right in pairs:
        yield from (".TP" if right else ".PP", f"\\fB{escape(left)}\\fR")
        if right:
            yield prose(sentence(right))


def statuses(page):
    if page.statuses:
        return page.statuses
    pairs = sections.of_page(sections.STATUSES, page.page)
    fails_on = any("--fail-on" in option.names for option in page.options)
    return pairs + sections.STATUSES["--fail-on"] if fails_on else pairs


def see_also(page, pages):
    """Of the command, all pages; of a verb, those that its text names too."""
    text = " ".join(page.paragraphs + [option.text for option in page.options])
    general = {"memprof", "memprof-run", "memprof-viewer"}
    others = [other.page for other in pages
              if other is not page and (page.verbs or other.page in general or f"'{other.program}" in text)]
    return [f".BR {escape(other)} (1){',' if other != others[-1] else ''}" for other in others]


def page_text(page, pages, version):
    yield f".\\\" Made by packaging/man.py from '{page.program} --help'."
    yield f'.TH {escape(page.page.upper())} 1 "" "memprof {version}" "memprof"'
    yield from (".nh", ".ad l", ".SH NAME", f"{escape(page.page)} \\- {escape(page.summary)}", ".SH SYNOPSIS")
    for usage in page.usages:
        yield from (".HP", f"\\fB{escape(page.program)}\\fR {mark('[A-Z]{3,}|N', 'I', usage)}")
    yield ".SH DESCRIPTION"
    for paragraph in page.paragraphs:
        yield from (".PP", prose(paragraph))
    if page.forms:
        yield ".SH FORMS"
        yield from tagged([(f"{form.program} {form.usages[0]}", " ".join(form.paragraphs)) for form in page.forms])
    if page.verbs:
        yield ".SH VERBS"
        yield from tagged([(verb.program.split()[1], verb.summary) for verb in page.verbs])
    yield ".SH OPTIONS"
    for option in page.options:
        yield from (".TP", option_names(option), prose(option.text))
    if page.examples:
        yield ".SH EXAMPLES"
        yield from tagged(page.examples)
    for heading, pairs in (("EXIT STATUS", statuses(page)),
                           ("ENVIRONMENT", sections.of_page(sections.ENVIRONMENT, page.page)),
                           ("FILES", sections.of_page(sections.FILES, page.page))):
        yield f".SH {heading}"
        yield from tagged(pairs)
    yield ".SH SEE ALSO"
    yield from see_also(page, pages)
    yield from (".PP", prose(sections.DOCUMENTATION))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memprof", required=True, help="the program; it is run")
    parser.add_argument("--viewer", help="memprof-viewer, if it was built; it is run")
    parser.add_argument("--version", required=True)
    parser.add_argument("--output", required=True, type=pathlib.Path, help="the folder of the pages")
    arguments = parser.parse_args()
    try:
        command = helps.memprof(arguments.memprof)
        pages = [command, *command.verbs] + ([helps.viewer(arguments.viewer)] if arguments.viewer else [])
    except (helps.Unreadable, OSError) as error:
        sys.exit(f"man.py: {error}")
    arguments.output.mkdir(parents=True, exist_ok=True)
    for old in arguments.output.glob("memprof*.1"):  # the page of a verb that is no more
        old.unlink()
    for page in pages:
        lines = page_text(page, pages, arguments.version)
        (arguments.output / f"{page.page}.1").write_text("\n".join(lines) + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
