#!/usr/bin/env python3
"""Makes stand-ins for the math and communication libraries that a PyTorch or CuPy links against.

    generate_libraries.py --python PYTHON --provided build/simcuda --out FOLDER
    generate_libraries.py --scan LIBRARY... --provided build/simcuda --out FOLDER
    generate_libraries.py --opened SONAME... --provided build/simcuda --out FOLDER
    generate_libraries.py --program PROGRAM... --provided build/simcuda --cache FOLDER

The imports of the given libraries determine which libraries are needed, their sonames, and their functions with symbol
versions. simcuda/libraries/functions.txt lists what these functions write. The own code of functions that must do more,
and the code that all of them have in common, are in the folder `libraries` of the provided stand-in. For a library that
a program opens by its name, the needed functions are unknown: it gets those of the list. A program is read with all
libraries that the loader would load for it; its stand-ins stay in a folder of the cache, whose path is printed. Needs no
compiler. Prints one line for each library. Ends with status 1 and one line on stderr on failure."""

import argparse
import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(os.path.dirname(HERE), "libraries", "functions.txt")
# In the folder `libraries` of the provided stand-in.
COMMON = "libsimcuda_libraries.so"
sys.path.insert(0, HERE)
import elf_imports  # noqa: E402
import elf_library  # noqa: E402

FAMILY = re.compile(r"^lib(cu(blas|blasLt|dnn|fft|fftw|rand|solver|solverMg|sparse|sparseLt|file|pti)"
                    r"|nccl|nvrtc|nvshmem_host|nvToolsExt|nvJitLink)\.so\b")
OPENED = re.compile(rb"lib(?:cu|nccl|nvrtc|nvshmem|nvJitLink)\w*\.so\.\d+")
# Libraries that PyTorch opens at run time.
OPENED_BY_NAME = "libnvidia-ml.so.1"
# In the order in which names are tried.
PREFIXES = [("cublasLt", "libcublasLt"), ("cublas", "libcublas"), ("cudnn", "libcudnn"),
            ("cusparseLt", "libcusparseLt"), ("cusparse", "libcusparse"),
            ("cusolverMg", "libcusolverMg"), ("cusolver", "libcusolver"), ("curand", "libcurand"),
            ("cufftw", "libcufftw"), ("cufft", "libcufft"), ("nccl", "libnccl"),
            ("pnccl", "libnccl"), ("nvrtc", "libnvrtc"), ("cuFile", "libcufile"),
            ("nvshmem", "libnvshmem_host"), ("nvtx", "libnvToolsExt"), ("cupti", "libcupti"),
            ("nvJitLink", "libnvJitLink")]
# Version numbers for distributions that do not state for which version they were built.
DEFAULT_VERSIONS = {"libcudnn": (9, 99, 0), "libnccl": (2, 27, 3), "libcusparseLt": (0, 8, 1)}
# (packages whose version is the library's, the weight of one unit of the major number)
VERSION_OF = {"libcudnn": ("cudnn", 10000), "libnccl": ("nccl", 10000),
              "libcusparseLt": ("cusparselt", 1000), "libcublas": ("cublas", 10000),
              "libcublasLt": ("cublas", 10000), "libnvrtc": ("cuda-nvrtc", 10000),
              "libcusparse": ("cusparse", 1000), "libcusolver": ("cusolver", 1000),
              "libcufft": ("cufft", 1000), "libcurand": ("curand", 1000)}


class Failure(Exception):
    """One line for the user."""


def stem_of(soname):
    return soname.split(".so")[0]


def major_of(soname):
    match = re.search(r"\.so\.(\d+)", soname)
    return int(match.group(1)) if match else 0


class Library:
    def __init__(self, soname):
        self.soname, self.stem = soname, stem_of(soname)
        self.names = {}  # name -> version node or None


def read_table():
    table, current = {}, None
    with open(TABLE, encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if not words or words[0].startswith("#"):
                continue
            if words[0].startswith("["):
                current = table.setdefault(words[0].strip("[]"), {})
            else:
                current[words[0]] = words[1:]
    return table


def ask_python(python):
    """(folder of torch or None, what it requires, folder of cupy or None)"""
    code = ("import importlib.util, importlib.metadata as m, json\n"
            "def folder(name):\n"
            "    s = importlib.util.find_spec(name)\n"
            "    return s.submodule_search_locations[0] if s and s.origin else None\n"
            "torch = folder('torch')\n"
            "print(json.dumps([torch, (m.requires('torch') or []) if torch else [], folder('cupy')]))")
    try:
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    except OSError as error:
        raise Failure(f"{python}: {error.strerror}") from error
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or ["it failed"]
        raise Failure(f"{python} cannot say where its torch is: {lines[-1]}")
    torch, requires, cupy = json.loads(done.stdout)
    if torch is None and cupy is None:
        raise Failure(f"{python} has no torch and no cupy: install one there, or leave --python out")
    return torch, requires, cupy


def libraries_of_torch(folder):
    """All libraries of PyTorch and related packages that may link against CUDA's libraries."""
    site = os.path.dirname(folder)
    found = glob.glob(os.path.join(folder, "lib", "*.so*"))
    found += glob.glob(os.path.join(folder, "_C*.so"))
    for companion in ("torchvision", "torchaudio", "torchtext", "xformers", "flash_attn"):
        found += glob.glob(os.path.join(site, companion, "**", "*.so"), recursive=True)
    return sorted(found)


def libraries_of_cupy(folder):
    site = os.path.dirname(folder)
    return sorted(glob.glob(os.path.join(site, "cupy*", "**", "*.so"), recursive=True))


def loaded_by(program):
    """The program and the libraries that the loader finds for it, except for those that are replaced."""
    try:
        done = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
    except OSError:
        return [program]
    paths = re.findall(r"^\s*(?:\S+ => )?(/\S+) \(0x", done.stdout, re.M)
    return [program] + [path for path in paths if not FAMILY.match(os.path.basename(path))]


def opened_by_programs(paths, have, provided):
    """Libraries whose names occur in the files, which may open them."""
    found = set()
    for path in paths:
        if path.startswith(("/lib", "/usr/lib")):
            continue
        with open(path, "rb") as file:
            for match in OPENED.finditer(file.read()):
                found.add(match.group().decode())
    return [Library(soname) for soname in sorted(found) if FAMILY.match(soname) and
            soname not in have and not os.path.exists(os.path.join(provided, soname))]


def has_old_rpath(paths):
    """Whether a file has a path (DT_RPATH) that is searched before LD_LIBRARY_PATH."""
    for path in paths:
        try:
            if elf_imports.Imports(path).rpath:
                return True
        except (elf_imports.NotElf, OSError):
            continue
    return False


def fingerprint(paths, args):
    state = [repr(sorted(args.program)), args.provided]
    own = glob.glob(os.path.join(args.provided, "libraries", "*.so")) + glob.glob(os.path.join(HERE, "*.py"))
    for path in paths + [TABLE] + sorted(own):
        info = os.stat(path)
        state.append(f"{path} {info.st_mtime_ns} {info.st_size}")
    return hashlib.sha256("\n".join(state).encode()).hexdigest()[:16]


def generate_for_programs(args):
    """Prints the folder with the libraries, and then "preload" if they must be preloaded."""
    paths = sorted({path for program in args.program for path in loaded_by(program)})
    folder = os.path.join(args.cache, fingerprint(paths, args))
    if not os.path.exists(os.path.join(folder, "complete")):
        libraries = collect(paths, args.provided)
        libraries += opened_by_programs(paths, {one.soname for one in libraries}, args.provided)
        if not libraries:
            return
        print("==> making stand-ins for " + ", ".join(one.soname for one in libraries),
              file=sys.stderr)
        os.makedirs(args.cache, exist_ok=True)
        args.out = tempfile.mkdtemp(dir=args.cache)
        make_all(libraries, {}, args)
        with open(os.path.join(args.out, "complete"), "w", encoding="utf-8") as file:
            file.write("preload\n" if has_old_rpath(paths) else "\n")
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(args.out, folder)
    print(folder)
    with open(os.path.join(folder, "complete"), encoding="utf-8") as file:
        print(file.read().strip())


def required_versions(requires):
    versions = {}
    for one in requires:
        match = re.match(r"([\w.-]+?)(?:-cu\d+)?(?:\[[^\]]*\])?\s*==\s*([\d.]+)", one)
        if match:
            name = re.sub(r"^nvidia-", "", match.group(1))
            versions[name] = tuple(int(part) for part in match.group(2).split(".")[:3])
    return versions


def version_of(library, versions):
    """(number as the library's own functions give it, what its major counts)"""
    package, scale = VERSION_OF.get(library.stem, ("", 1000))
    version = versions.get(package) or DEFAULT_VERSIONS.get(library.stem)
    if version is None:
        toolkit = versions.get("cuda-toolkit", (0, 0, 0))
        major = major_of(library.soname)
        version = (major, toolkit[1] if toolkit[0] == major else 0, 0)
    version = (tuple(version) + (0, 0, 0))[:3]
    return version[0] * scale + version[1] * 100 + version[2], scale


def library_for(name, version_soname, needed):
    if version_soname:
        return version_soname
    for prefix, stem in PREFIXES:
        if name.startswith(prefix):
            fitting = [one for one in needed if stem_of(one) == stem]
            return fitting[0] if fitting else None
    return None


def opened_by_name(folder):
    """The library that PyTorch opens by name, with the functions that it looks up by name."""
    library = Library(OPENED_BY_NAME)
    with open(os.path.join(folder, "lib", "libc10_cuda.so"), "rb") as file:
        for name in re.findall(rb"\0(nvml[A-Z]\w+)(?=\0)", file.read()):
            library.names[name.decode()] = None
    return library


def collect(paths, provided):
    libraries = {}
    for path in paths:
        try:
            imports = elf_imports.Imports(path)
        except elf_imports.NotElf:
            continue
        except OSError as error:
            raise Failure(f"{path}: {error.strerror}") from error
        wanted = [one for one in imports.needed if FAMILY.match(one) and
                  not os.path.exists(os.path.join(provided, one))]
        for soname in wanted:
            libraries.setdefault(soname, Library(soname))
        for name, (version, version_soname) in imports.names.items():
            soname = library_for(name, version_soname, wanted)
            if soname in libraries:
                if version or name not in libraries[soname].names:
                    libraries[soname].names[name] = version
    return [libraries[one] for one in sorted(libraries)]


def functions_of(library, table, own):
    """All functions of the list, of the part with own code, and of the imports."""
    # Names without a symbol version get that of the library's other names.
    nodes = sorted({version for version in library.names.values() if version})
    rules = table.get(library.stem, {})
    return [elf_library.Function(name, library.names.get(name) or (nodes[0] if nodes else None),
                                 tuple(rules.get(name, ())), name in own)
            for name in sorted({*rules, *own, *library.names})]


def make_library(library, table, versions, args):
    """Writes it into args.out; returns a line about it."""
    folder = os.path.join(args.provided, "libraries")
    part = os.path.join(folder, library.stem + ".so")
    own = elf_imports.Imports(part).defined if os.path.exists(part) else []
    functions = functions_of(library, table, frozenset(own))
    target = elf_library.Target(elf_imports.Imports(os.path.join(folder, COMMON)).machine, COMMON, folder,
                                part if own else "")
    with open(os.path.join(args.out, library.soname), "wb") as file:
        file.write(elf_library.library(library.soname, version_of(library, versions), functions, target))
    return f"{library.soname}: {len(functions)} functions" + (", some by hand" if own else "")


def wanted_libraries(args):
    """(libraries, versions that packages require)"""
    if args.opened:
        return [Library(soname) for soname in args.opened], {}
    if args.scan:
        return collect(args.scan, args.provided), {}
    torch, requires, cupy = ask_python(args.python)
    paths = (libraries_of_torch(torch) if torch else []) + (libraries_of_cupy(cupy) if cupy else [])
    libraries = collect(paths, args.provided)
    if not libraries:
        raise Failure(f"the {'torch' if torch else 'cupy'} of {args.python} links against none of CUDA's "
                      "libraries: a build for the CPU alone has nothing to run on a GPU")
    if torch and os.path.exists(os.path.join(torch, "lib", "libc10_cuda.so")):
        libraries.append(opened_by_name(torch))
    return libraries, required_versions(requires)


def make_all(libraries, versions, args):
    table = read_table()
    return [make_library(library, table, versions, args) for library in libraries]


def generate(args):
    libraries, versions = wanted_libraries(args)
    os.makedirs(args.out, exist_ok=True)
    for line in make_all(libraries, versions, args):
        print(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--python", help="a Python whose torch and cupy are meant")
    what.add_argument("--opened", nargs="+", help="names under which libraries are opened")
    what.add_argument("--scan", nargs="+", help="libraries whose imports are meant")
    parser.add_argument("--provided", required=True, help="folder of the stand-in CUDA")
    what.add_argument("--program", nargs="+", help="programs whose libraries are meant")
    parser.add_argument("--out")
    parser.add_argument("--cache", help="where what is made for programs stays")
    args = parser.parse_args()
    args.provided = os.path.abspath(args.provided)  # it is written into the libraries
    if not (args.cache if args.program else args.out):
        parser.error("--program needs --cache, the others need --out")
    try:
        (generate_for_programs if args.program else generate)(args)
    except (Failure, OSError, ValueError) as error:
        print(f"generate_libraries: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
