"""Stands in for vLLM's compiled kernels, and for packages that its scheduler imports and does not use."""

import importlib.abc
import importlib.machinery
import sys
import types

UNUSED = frozenset((
    "anthropic", "compressed_tensors", "cv2", "depyf", "fastapi", "flashinfer", "gguf", "jiter", "lark", "llguidance",
    "lmformatenforcer", "mcp", "mistral_common", "model_hosting_container_standards", "numba",
    "opentelemetry", "outlines_core", "partial_json_parser", "sentencepiece", "starlette", "tiktoken", "tilelang",
    "uvloop", "xgrammar"))


class Stubs(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """After all other finders: any attribute of such a module is an empty class."""

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in UNUSED or name.startswith(("vllm._C", "vllm._moe_C")):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        module = types.ModuleType(spec.name)

        def attribute(name):
            if name.startswith("__"):
                raise AttributeError(name)
            return type(name, (), {"__class_getitem__": classmethod(lambda cls, _: cls)})

        module.__getattr__ = attribute
        return module

    def exec_module(self, module):
        pass


sys.meta_path.append(Stubs())
