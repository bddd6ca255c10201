"""A path of objects as one line: "list `metrics.predictions` (global `metrics`, train.py:10)".

Steps are found by id(type): a comparison of classes, or their hash, may be code of the program.
"""

import _thread
import atexit
import collections
import contextvars
import functools
import types

from . import words
from .look import GARBAGE, UNSEEN, of_user, variables_of
from .text import Text


HOOKS = "hooks of a graph of autograd"  # a root: of a node, which Python does not see
AT_EXIT = "callback of atexit"  # a root
ENTERED = "a mode of PyTorch that was entered and not left"  # a root
# A path in words. `root` and each of `chain`, the objects from there to the memory, are parts of a tree; `line` says it
# at once. The lower the rank, the more does a user think of the memory by this path.
Way = collections.namedtuple("Way", "line root chain rank")
# What only repeats a variable, by its line (analysis/leaks/holders.cc has the same words).
_ECHOES = tuple("global `%s`, sys" % name for name in ("last_traceback", "last_exc", "last_value")) + (
    ".user_ns_hidden", " of the bound method ")
_ECHO, REPEATED = 4, 5  # ranks


def _qualified(function):
    return function.__qualname__.replace("<locals>.", "")


class Namer:
    """Names the paths of one look. `library` finds the objects of frames and of atexit; `modes`: ids of objects that
    PyTorch has as modes."""

    def __init__(self, look, library, sources, modes=()):
        self._modes = modes
        self._look = look
        self._files = dict(look.modules.values())
        self._library = library
        self._called_at_exit = None  # by ids of arguments, keywords and functions: the function
        self._values = {}  # by id of a large dictionary: the ids of its values
        self._sources = sources
        self._chains = {}  # by (line, root)
        self.lost = 0  # paths that changed meanwhile

    def describe(self, path, member="", container=""):
        """The Way of a path, which is a list of places from the root to an object, or to a member of it (".grad");
        `container` says of which type a member is that ends in "[…]". Other threads may change objects
        since the look: then a part of the path may not be there any more."""
        try:
            return self._describe(path, member, container)
        except Exception:  # pylint: disable=broad-except
            self.lost += 1
            what = "`%s`" % words.class_of(self._look.objects[path[-1]])
            return Way("%s, by a path that changed while it was named" % what, "…", [what], 3)

    def _describe(self, path, member, container):
        objects = [self._look.objects[each] for each in path]
        if self._look.reach[path[-1]] == GARBAGE:
            return self._describe_cycle(objects)
        text, at = self._begin(objects, path[0])
        self._follow(text, objects, at)
        if member:
            text.extend(member)
            text.chain.append("`%s`" % text.expression)
        else:
            container = self._container(objects)
        line, root = text.line(container), text.root or "native code"
        # One chain for each line: of a list of parameters and other tensors, too.
        return Way(line, root, self._chains.setdefault((line, root), text.chain), self._rank(text, objects, line))

    @staticmethod
    def _rank(text, objects, line):
        if len(objects) > 1 and words.is_result(objects[0], text.expression):
            return REPEATED
        if any(echo in line for echo in _ECHOES):
            return _ECHO
        if text.of_module:
            return 0
        return 2 if len(objects) > 1 and text.expression.endswith(".keys()[…]") else 1

    # --- where a path begins

    def _begin(self, objects, place):
        first = objects[0]
        if id(first) in self._look.modules:
            name, file = self._look.modules[id(first)]
            key = words.name_in(first, objects[1])
            where = words.short(file) if file else name
            line = self._sources.of_global(file, key)
            return Text("global `%s`, %s%s" % (key, where, ":%d" % line if line else ""), "", key), 1
        if id(first) in self._look.frames and len(objects) > 1:
            return self._local(first, objects[1]), 1
        if self._look.reach[place] == UNSEEN:
            if words.is_a(first, type):
                name = words.name_of_type(first)
                return Text("class `%s`" % name, "", name), 0
            if type(first) is contextvars.Context:
                return Text("the context of a thread", "", ""), 0
            if len(objects) > 1 and words.is_hooks(first):
                is_function = type(objects[1]) is types.FunctionType
                return Text(HOOKS, "", "" if is_function else words.class_of(objects[1])), 1
            if self._library.has_exit_callbacks(first) and len(objects) > 2:  # a list of such tuples
                text, at = self._argument_at_exit(objects[1][0], objects[2:])
                return text, at + 2
            skipped = 1 if first is atexit and len(objects) > 2 else 0  # CPython 3.9 has them in the module
            if id(objects[skipped]) in self._exit_callbacks():
                text, at = self._argument_at_exit(self._exit_callbacks()[id(objects[skipped])], objects[skipped:])
                return text, at + skipped
            if id(first) in self._modes:
                return Text(ENTERED, "", words.class_of(first)), 0
            if len(objects) == 1:
                return Text("", "only native code holds this", words.class_of(first)), 0
            if type(first) is types.FunctionType:
                return Text("a function that native code holds", "", ""), 0
            name = words.class_of(first)
            return Text("`%s` that native code holds" % name, "", name), 0
        return Text("", "", words.class_of(first)), 0

    def _exit_callbacks(self):
        if self._called_at_exit is None:
            self._called_at_exit = {}
            for function, arguments, keywords in self._library.exit_callbacks():
                for part in (arguments, keywords, function):
                    self._called_at_exit[id(part)] = function
        return self._called_at_exit

    @staticmethod
    def _argument_at_exit(function, objects):
        first = objects[0]
        name = _name_of_function(function)
        if first is function or len(objects) == 1:
            return Text(AT_EXIT, "", name), 0
        if type(first) is tuple:
            return Text(AT_EXIT, "argument of %s()," % name, words.argument_of(function, first, objects[1])), 1
        return Text(AT_EXIT, "argument of %s()," % name, words.name_in(first, objects[1])), 1

    def _local(self, frame, value):
        code = frame.f_code
        name = words.local_of(variables_of(code), frame, value, self._library.slot) or "…"
        function = getattr(code, "co_qualname", code.co_name)
        where = "%s:%d" % (words.short(code.co_filename), frame.f_lineno or code.co_firstlineno)
        kind = words.class_of(value)
        if name == "self" and not function.startswith(kind + "."):  # a method of a base class
            name_and_class = "local `self`, a `%s`, of %s(), at %s" % (kind, function.replace("<locals>.", ""), where)
            return Text(name_and_class, "", name)
        if code.co_name == "<module>":
            return Text("global `%s`, %s" % (name, words.short(code.co_filename)), "", name)
        return Text("local `%s` of %s(), at %s" % (name, function.replace("<locals>.", ""), where), "", name)

    # --- from object to object

    def _follow(self, text, objects, at):
        last = len(objects) - 1
        text.reach(objects[at])
        while at < last:
            kind = type(objects[at])
            step = _STEPS.get(id(kind), Namer._other)
            if issubclass(kind, _thread._local):
                step = Namer._thread_local
            at += step(self, text, objects, at)
            if id(type(objects[at])) not in _NO_WORDS:
                text.reach(objects[at])

    def _other(self, text, objects, at):
        """Returns by how many objects the step goes on; so do all steps."""
        thing, value = objects[at], objects[at + 1]
        if words.is_a(thing, type):
            return self._class(text, objects, at)
        part = self._collection(thing, value) if words.is_container(thing) else None
        if part is None:
            done = self._instance(text, objects, at)
            if done:
                return done
            part = self._collection(thing, value)
        if part is None and words.is_a(thing, BaseException):
            part = words.part_of_exception(thing, value)
        if part is not None:
            text.extend(part)
            return 1
        text.begin("object of", words.class_of(thing))
        return 1

    def _collection(self, thing, value):
        if not words.is_a(thing, dict) or dict.__len__(thing) <= words.MOST_KEYS:
            return words.collection_text(thing, value)
        values = self._values.get(id(thing))  # each of many entries is asked for
        if values is None:
            values = self._values[id(thing)] = set(map(id, dict.values(thing)))
        return "[…]" if id(value) in values else ".keys()[…]"

    def _instance(self, text, objects, at):
        thing, value = objects[at], objects[at + 1]
        own = words.instance_dict(thing)
        if own is not None and value is own and at + 2 < len(objects):
            key, found = words.key_of(own, objects[at + 2])
            if found:
                return self._attribute(text, objects, at, at + 2, key) - at
        name = words.attribute_of(thing, value)
        if name is None:
            return 0
        return self._attribute(text, objects, at, at + 1, name) - at

    def _attribute(self, text, objects, before, at, key):
        """The attribute `key` of objects[before] is objects[at]. Returns where to go on."""
        if type(key) is str and key in words.MODULE_PARTS and type(objects[at]) is dict and at + 1 < len(objects):
            inner, found = words.key_of(objects[at], objects[at + 1])
            if found and type(inner) is str:
                text.extend("[%s]" % inner if inner.isdigit() else "." + inner)
                text.of_module = key != "_modules"
                return at + 1
        if type(key) is str:
            text.attribute(key, self._assigned(objects[before], key), words.class_of(objects[before]))
        else:
            text.extend(words.key_text(key, 0))
        return at

    def _assigned(self, thing, name):
        """Where the source of a class of the user assigns an attribute; "" for others."""
        for kind in words.mro_of(type(thing)):
            module = words.dict_of_type(kind).get("__module__")
            file = self._files.get(module) if type(module) is str else None
            line = self._sources.of_attribute(file, words.name_of_type(kind), name) if file and of_user(file) else 0
            if line:
                return "%s:%d" % (words.short(file), line)
        return ""

    def _class(self, text, objects, at):
        value = objects[at + 1]
        if type(value) is dict and at + 2 < len(objects):
            text.extend("." + words.name_in(value, objects[at + 2]))
            return 2
        text.extend(".__base__" if words.is_a(value, type) else "…")
        return 1

    def _function(self, text, objects, at):
        function, value = objects[at], objects[at + 1]
        name = _qualified(function)
        rest = objects[at + 2:]
        if value is function.__closure__ and rest:
            cells = function.__closure__
            for variable, cell in zip(function.__code__.co_freevars, cells):
                if cell is rest[0]:
                    text.begin("variable of the closure %s()," % name, variable)
                    return 2
        if value is function.__defaults__ and rest:
            arguments = function.__code__.co_varnames[:function.__code__.co_argcount]
            for argument, default in zip(reversed(arguments), reversed(function.__defaults__)):
                if default is rest[0]:
                    text.begin("default argument of %s()," % name, argument)
                    return 2
        if value is function.__kwdefaults__ and rest:
            text.begin("default argument of %s()," % name, words.name_in(value, rest[0]))
            return 2
        if type(value) is dict and rest:
            text.extend("." + words.name_in(value, rest[0]))
            return 2
        text.begin("function", name)
        return 1

    def _method(self, text, objects, at):
        method = objects[at]
        if objects[at + 1] is method.__self__:
            text.begin("`self` of the bound method %s()," % _name_of_function(method.__func__), "self")
        return 1

    def _partial(self, text, objects, at):
        """What is put in for an argument is named after that."""
        partial, rest = objects[at], objects[at + 1:]
        function = words.of_partial("func", partial)
        name = _name_of_function(function)
        if len(rest) > 1 and rest[0] is words.of_partial("args", partial):
            text.begin("argument in a partial of %s()," % name, words.argument_of(function, rest[0], rest[1]))
            return 2
        if len(rest) > 1 and rest[0] is words.of_partial("keywords", partial):
            text.begin("argument in a partial of %s()," % name, words.name_in(rest[0], rest[1]))
            return 2
        if rest[0] is function:
            text.begin("function of a partial,", name)
            return 1
        return self._other(text, objects, at)

    def _skip(self, _text, _objects, _at):
        """A cell or a traceback is no word of a user's."""
        return 1

    def _frame(self, text, objects, at):
        inner = self._local(objects[at], objects[at + 1])
        text.begin(inner.root.replace("`%s`" % inner.expression, "", 1).replace("  ", " ") + ",", inner.expression)
        return 1

    def _lru_cache(self, text, objects, at):
        attributes = words.instance_dict(objects[at])
        wrapped = dict.get(attributes, "__wrapped__") if attributes is not None else None
        text.begin("cache of", "%s()" % _name_of_function(wrapped))
        return 2 if type(objects[at + 1]) is dict and at + 2 < len(objects) else 1

    def _generator(self, text, objects, at):
        generator, value = objects[at], objects[at + 1]
        step = 1
        if type(value) is types.FrameType and at + 2 < len(objects):  # before 3.11 it has a frame object
            value, step = objects[at + 2], 2
        frame = getattr(generator, _FRAME_OF[type(generator)])
        name = None
        if frame is not None:
            name = words.local_of(variables_of(frame.f_code), frame, value, self._library.slot)
        text.begin("local of the %s %s()," % (type(generator).__name__, generator.__qualname__.replace("<locals>.", "")),
                   name or "…")
        return step

    def _thread_local(self, text, objects, at):
        """It has a dictionary of the dictionaries of threads."""
        rest = objects[at + 1:]
        if len(rest) < 3 or not all(type(each) is dict for each in rest[:2]):
            text.extend("…")
            return 1
        text.extend("." + words.name_in(rest[1], rest[2]))
        return 3

    def _context(self, text, objects, at):
        """Its values are in a tree of a type of its own."""
        end = at + 1
        while end + 1 < len(objects) and words.class_of(objects[end]).startswith("hamt"):
            end += 1
        for variable, value in contextvars.Context.items(objects[at]):
            if value is objects[end]:
                text.begin("context variable", variable.name)
                break
        else:
            text.begin("value of the", "Context")
        return end - at

    # --- the rest

    @staticmethod
    def _container(objects):
        if len(objects) < 2:
            return ""
        name = words.class_of(objects[-2])
        return _CONTAINERS.get(id(type(objects[-2])), name if name == words.ARRAY else "")

    def _describe_cycle(self, objects):
        """The path begins and ends with the same object of a cycle, then leads to the tensor."""
        end = next((i for i in range(1, len(objects)) if objects[i] is objects[0]), 0)
        cycle = objects[:max(end, 1)]
        # An instance says more than its dictionary.
        first = next((i for i, thing in enumerate(cycle) if type(thing) is not dict), 0)
        is_class = words.is_a(cycle[first], type)
        name = words.name_of_type(cycle[first]) if is_class else words.class_of(cycle[first])
        text, around = Text("", "", name), Text("", "", name)
        self._follow(text, cycle[first:] + objects[end:], 0)
        self._follow(around, cycle[first:] + cycle[:first + 1], 0)
        classes = " → ".join(words.class_of(each) for each in cycle[first:] + cycle[:first + 1] if type(each) is not dict)
        line = "%s, in a cycle that waits for the collector: %s is this %s (%s)" % (
            text.line(self._container(objects)), around.line(""), name, classes)
        return Way(line, "cycle", ["%s, the same" % around.chain[-1]] + text.chain, 1)


# By functions, not by methods of a Namer: in a cycle, it would keep the program's objects until the collector runs.
_STEPS = {id(kind): step for kind, step in (
    (types.FunctionType, Namer._function), (types.MethodType, Namer._method), (types.CellType, Namer._skip),
    (types.FrameType, Namer._frame), (types.TracebackType, Namer._skip), (types.MappingProxyType, Namer._skip),
    (words.LRU_CACHE, Namer._lru_cache), (functools.partial, Namer._partial),
    (contextvars.Context, Namer._context), (types.GeneratorType, Namer._generator),
    (types.CoroutineType, Namer._generator), (types.AsyncGeneratorType, Namer._generator))}
_CONTAINERS = {id(kind): kind.__name__ for kind in (list, dict, set, frozenset, collections.deque, collections.OrderedDict,
                                                    collections.defaultdict)}
_NO_WORDS = {id(kind) for kind in (types.CellType, types.TracebackType, types.MappingProxyType)}
_FRAME_OF = {types.GeneratorType: "gi_frame", types.CoroutineType: "cr_frame", types.AsyncGeneratorType: "ag_frame"}


def _name_of_function(function):
    if type(function) is types.FunctionType:
        return _qualified(function)
    if type(function) is types.MethodType:
        return _name_of_function(function.__func__)
    return words.builtin_name(function) if type(function) is types.BuiltinFunctionType else words.class_of(function)
