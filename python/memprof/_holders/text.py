"""A line under construction."""

from . import words

_ANY = ("[…]", "{…}")


class Text:
    """A line under construction. Names of attributes and keys extend the expression; what is no expression in
    Python, such as the variable of a closure, begins another one, which the ones before it keep alive."""

    def __init__(self, root, what, expression):
        self.root = root
        self.parts = []
        self.what = what
        self.expression = expression
        self.of_module = False  # ends in a parameter or buffer of a torch.nn.Module
        self.assigned = ""  # where the last attribute gets its value: "train.py:3"
        self.owner = ""  # the class that assigns it
        self.chain = []

    def extend(self, text):
        self.expression += text
        self.of_module = False

    def attribute(self, name, assigned, owner):
        self.extend("." + name)
        self.assigned, self.owner = assigned, owner

    def begin(self, what, expression):
        if self.expression:
            self.parts.append(self._part())
        self.what, self.expression, self.assigned = what, expression, ""

    def _part(self):
        return _joined(self.what, self.expression)

    def reach(self, thing):
        """The path is now at this object."""
        part = self._part()
        if self.expression and (not self.chain or not self.chain[-1].endswith(part)):
            named = self.what and not self.what.endswith(",")  # "function `f`"
            self.chain.append(part if named else "%s %s" % (words.class_of(thing), part))

    def line(self, container):
        """`container`: list, dict, ... if the last part of the expression is an element of one. Elements that are
        alike are not told apart."""
        if container and self.expression.endswith(_ANY):
            expression = self.expression[:-len(_ANY[0])]
            what = self.what if self.what.endswith(",") else ""
            text = "%s %s" % (container, _joined(what, expression))
        else:
            text = self._part()
        if self.assigned and self.owner not in text:
            text += " of `%s`" % self.owner
        if self.assigned:
            text += ", assigned at " + self.assigned
        for part in reversed(self.parts):
            text += ", held by " + part
        return "%s (%s)" % (text, self.root) if self.root else text


def _joined(what, expression):
    """"list `x`"; what ends in a comma comes after the expression: "`x`, variable of the closure f()"."""
    if what.endswith(","):
        return "`%s`, %s" % (expression, what[:-1])
    return "%s `%s`" % (what, expression) if what else "`%s`" % expression
