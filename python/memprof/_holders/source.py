"""Where the source says that a variable gets its value."""

import ast
import os

_MOST_BYTES = 1 << 21


class Sources:
    """The first assignments in files; each is read once."""

    def __init__(self):
        self._files = {}

    def of_global(self, file, name):
        """The line, or 0."""
        return self._of(file)[0].get(name, 0)

    def of_attribute(self, file, kind, name):
        """The line of `self.name = ...` in the class `kind`, or 0."""
        return self._of(file)[1].get((kind, name), 0)

    def _of(self, file):
        known = self._files.get(file)
        if known is None:
            known = self._files[file] = ({}, {})
            try:
                if file and os.path.getsize(file) <= _MOST_BYTES:
                    with open(file, "rb") as source:
                        _Finder(*known).visit(ast.parse(source.read()))
            except (OSError, SyntaxError, ValueError, RecursionError):  # no source, or not Python's
                pass
        return known


class _Finder(ast.NodeVisitor):
    def __init__(self, names, attributes):
        self._names, self._attributes = names, attributes
        self._classes = []
        self._globals = [None]  # of the function around; None in the module

    def _name(self, name, line):
        inside = self._globals[-1]
        if inside is None or name in inside:
            self._names.setdefault(name, line)

    def visit_ClassDef(self, node):
        self._name(node.name, node.lineno)
        self._classes.append(node.name)
        self._globals.append(frozenset())
        self.generic_visit(node)
        self._globals.pop()
        self._classes.pop()

    def visit_FunctionDef(self, node):
        self._name(node.name, node.lineno)
        named = (name for each in ast.walk(node) if isinstance(each, ast.Global) for name in each.names)
        self._globals.append(frozenset(named))
        self.generic_visit(node)
        self._globals.pop()

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Store):
            self._name(node.id, node.lineno)

    def visit_Attribute(self, node):
        if isinstance(node.ctx, ast.Store) and self._classes and isinstance(node.value, ast.Name):
            self._attributes.setdefault((self._classes[-1], node.attr), node.lineno)
        self.generic_visit(node)
