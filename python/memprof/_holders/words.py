"""How one object refers to another, in the user's words: `metrics.predictions[…]`, "local `x` of train()".

The objects are the program's. No code of it may run: no attribute of an object is read in a way that its class
can change, no object is compared or printed, except exact instances of built-in types.
"""

import collections
import ctypes
import functools
import os
import re
import types

from .look import variables_of

MOST_KEYS = 16  # a dictionary with more entries is a collection: its keys are left out, so that entries are alike
_MOST_ITEMS = 4  # the same for a list
_MOST_TEXT = 160  # names of parameters have a hundred

builtin_name = types.BuiltinFunctionType.__dict__["__name__"].__get__
name_of_type = type.__dict__["__name__"].__get__
mro_of = type.__dict__["__mro__"].__get__
dict_of_type = type.__dict__["__dict__"].__get__
_generic_dict = ctypes.pythonapi.PyObject_GenericGetDict
_generic_dict.restype = ctypes.py_object
_generic_dict.argtypes = [ctypes.c_void_p, ctypes.c_void_p]  # ctypes asks an object for attributes
LRU_CACHE = type(functools.lru_cache(None)(lambda: None))
ARRAY = "ndarray"  # NumPy's
# Namespaces within a torch.nn.Module, whose entries are used as attributes.
MODULE_PARTS = ("_parameters", "_buffers", "_modules")


_CONTAINERS = {id(kind) for kind in (dict, list, tuple, set, frozenset, collections.deque)}
_PLAIN_KEYS = {id(kind) for kind in (str, int, bool, float)}


def is_a(thing, kind):
    """isinstance without the object's own idea of its class."""
    return issubclass(type(thing), kind)


def is_container(thing):
    """Whether it is exactly one of Python's collections."""
    return id(type(thing)) in _CONTAINERS


def is_hooks(thing):
    """Whether it may be a dictionary of hooks, as PyTorch's RemovableHandle makes them."""
    return type(thing) is collections.OrderedDict and all(
        type(key) is int and callable(hook) for key, hook in list(dict.items(thing)))


def short(path):
    return os.path.basename(path)


def class_of(thing):
    return name_of_type(type(thing))


def instance_dict(thing):
    """The attributes of an instance, or None."""
    try:
        found = _generic_dict(id(thing), None)
    except (AttributeError, SystemError, TypeError):
        return None
    return found if is_a(found, dict) else None


def key_text(key, count):
    if count > MOST_KEYS:
        return "[…]"
    if id(type(key)) in _PLAIN_KEYS:
        text = repr(key)
        return "[%s]" % text if len(text) <= _MOST_TEXT else "[%s…']" % text[:_MOST_TEXT]
    return "[…]"


def key_of(entries, value):
    """The key under which a dictionary has this object, and whether it has."""
    try:
        for key, entry in dict.items(entries):
            if entry is value:
                return key, True
    except RuntimeError:  # another thread changes it
        pass
    return None, False


def name_in(namespace, value):
    """The name under which a namespace has an object, one without an underscore if there is such; "…" if there is none,
    or it is no plain text."""
    name = "…"
    try:
        for key, entry in dict.items(namespace):
            if entry is value and type(key) is str:
                if not key.startswith("_"):
                    return key
                name = key if name == "…" else name
    except RuntimeError:  # another thread changes it
        pass
    return name


_RESULT = re.compile(r"_(\d+|_{0,2})")


def is_result(namespace, name):
    """Whether it is a name that IPython gives a cell's result beside its place in `Out`: `_`, `__`, `___`, `_12`."""
    return _RESULT.fullmatch(name) is not None and type(namespace) is dict and \
        {"Out", "_oh"} <= {key for key in list(namespace) if type(key) is str}


def attribute_of(thing, value):
    """The name of the attribute or slot of an instance that is this object, or None."""
    own = instance_dict(thing)
    if own is not None:
        key, found = key_of(own, value)
        if found and type(key) is str:
            return key
    for each in mro_of(type(thing)):
        for name, member in list(dict_of_type(each).items()):
            if type(member) is types.MemberDescriptorType:
                try:
                    if member.__get__(thing, each) is value:
                        return name
                except AttributeError:  # an empty slot
                    pass
    return None


def local_of(variables, frame, value, slots):
    """The name of a frame's variable that is this object, or None."""
    for index, name in enumerate(variables):
        if slots(frame, index) == id(value):
            return name
    return None


def closed_over(function):
    """The values of the variables of a closure."""
    cells = function.__closure__ if type(function) is types.FunctionType else None
    found = []
    for cell in cells or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:  # not yet set
            pass
    return found


def of_partial(name, partial):
    """`func`, `args` or `keywords`."""
    return functools.partial.__dict__[name].__get__(partial)


_ARGUMENTS, _CAUSE = (BaseException.__dict__[name].__get__ for name in ("args", "__cause__"))


def part_of_exception(error, value):
    if type(value) is types.TracebackType:
        return ".__traceback__"
    if _ARGUMENTS(error) is value:
        return ".args"
    return ".__cause__" if _CAUSE(error) is value else ".__context__"


def _arguments(function):
    """Names of those that may be given by position."""
    code = function.__code__ if type(function) is types.FunctionType else None
    return code.co_varnames[:code.co_argcount] if code is not None else ()


def argument_of(function, arguments, value):
    """The name of the argument of a function for which one of `arguments` is put in."""
    is_method = type(function) is types.MethodType
    names = _arguments(function.__func__)[1:] if is_method else _arguments(function)
    for index, argument in enumerate(arguments):
        if argument is value:
            return names[index] if index < len(names) else "args[%d]" % index
    return "…"


def index_text(items, value):
    if len(items) > _MOST_ITEMS:
        return "[…]"
    for index, item in enumerate(items):
        if item is value:
            return "[%d]" % index
    return "[…]"


def collection_text(thing, value):
    """How a built-in collection refers to an object: `[3]`, `['key']`, `{…}`; None for other objects."""
    if is_a(thing, dict):
        key, found = key_of(thing, value)
        return key_text(key, dict.__len__(thing)) if found else ".keys()[…]"
    if is_a(thing, list):
        return index_text(thing, value) if type(thing) is list else "[…]"
    if is_a(thing, tuple):
        if type(thing) is tuple:
            return index_text(thing, value)
        names = dict_of_type(type(thing)).get("_fields")
        if type(names) is tuple:
            for name, item in zip(names, tuple.__iter__(thing)):
                if item is value:
                    return "." + name if type(name) is str else "[…]"
        return "[…]"
    if is_a(thing, collections.deque):
        return "[…]"
    if is_a(thing, (set, frozenset)):
        return "{…}"
    if class_of(thing) == ARRAY:
        return ".base" if class_of(value) == ARRAY else "[…]"
    return None
