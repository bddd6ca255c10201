#!/usr/bin/env python3
"""Writes the driver's entry points from the toolkit's headers.

Every name in exports/libcuda.txt becomes an exported function. If CUPTI's
generated_cuda_meta.h has its parameters, the function packs them into the
<name>_params struct, reports the call (simcuda/driver/api_call.h) and calls
memprof::simcuda::api::<name>; a weak default of that returns "not supported",
and the sources in driver/ override it. A name ending in _ptsz or _ptds calls
its base with the per-thread default stream.

Writes into OUT: driver_api.h, driver_defaults.cc, driver_entries_<n>.cc,
driver_untyped.c, driver_tables.cc.
"""

import argparse
import os
import re

PART_COUNT = 4
PER_THREAD = re.compile(r"_pt(ds|sz)$")


def find_header(name, dirs):
    for folder in dirs:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            with open(path, encoding="utf-8", errors="replace") as file:
                return file.read()
    return ""


def read_params(text):
    """The parameters of each function: name -> [(declaration, variable)]."""
    found = {}
    for match in re.finditer(r"typedef struct \w+ \{(.*?)\} (\w+)_params;", text, re.S):
        fields = []
        for line in match[1].split(";"):
            declaration = " ".join(line.split())
            if declaration:
                fields.append((declaration, re.search(r"(\w+)$", declaration)[1]))
        found[match[2]] = fields
    return found


def read_versions(text):
    """The CUDA versions at which the next variant of a base name appears."""
    found = {}
    for match in re.finditer(r"\*\s?PFN_(cu\w+?)_v(\d+)\)", text):
        found.setdefault(match[1], set()).add(int(match[2]))
    return {base: sorted(versions) for base, versions in found.items()}


def variants(base, exports):
    """base, base_v2, base_v3, ... as far as they are exported."""
    result = [base] if base in exports else []
    number = 2
    while f"{base}_v{number}" in exports:
        result.append(f"{base}_v{number}")
        number += 1
    return result


def write_if_changed(path, text):
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            if file.read() == text:
                return
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def signature(fields):
    return ", ".join(declaration for declaration, _ in fields) or "void"


def types(fields):
    """The types without the names, which sometimes differ between variants of a function."""
    return [re.sub(r"\w+$", "", declaration) for declaration, _ in fields]


def launch_symbol(name, fields):
    if not name.startswith("cuLaunch"):
        return "nullptr"
    for declaration, variable in fields:
        if declaration.split()[0] == "CUfunction":
            return variable
    return "nullptr"


def entry(index, name, target, params, has_cbid):
    """One exported function."""
    fields = params.get(name)
    cbid = f"CUPTI_DRIVER_TRACE_CBID_{name}" if has_cbid else "0"
    names = ", ".join(variable for _, variable in fields)
    if fields:
        packed = f"  {name}_params params{{{names}}};\n"
        pointer = "&params"
    else:
        packed = ""
        pointer = "nullptr"
    scope = ""
    if target != name:
        scope = "    PerThreadDefaultStream per_thread;\n"
    # Not every header that declares them is included.
    declared = "" if fields else f"CUresult CUDAAPI {name}(void);\n"
    return (f"{declared}CUresult CUDAAPI {name}({signature(fields)}) {{\n{packed}"
            f"  ApiCall call({index}, {cbid}, \"{name}\", {pointer}, "
            f"{launch_symbol(name, fields)});\n"
            f"  if (call.allowed()) {{\n{scope}    call.set_result(api::{target}({names}));\n  }}\n"
            f"  return call.Finish();\n}}\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--include", action="append", required=True)
    parser.add_argument("--exports", required=True)
    parser.add_argument("--out", required=True)
    args = parser.parse_args()

    with open(args.exports, encoding="utf-8") as file:
        exports = [line.strip() for line in file if line.strip()]
    known = set(exports)
    params = read_params(find_header("generated_cuda_meta.h", args.include))
    # The only functions without parameters; CUPTI has no struct for them.
    for name in ("cuCtxSynchronize", "cuCtxResetPersistingL2Cache", "cuProfilerStart",
                 "cuProfilerStop"):
        params.setdefault(name, [])
    # Before CUDA 12, headers lack the second version, which the runtime asks for first.
    params.setdefault("cuGetProcAddress_v2", [
        ("const char *symbol", "symbol"), ("void **pfn", "pfn"), ("int cudaVersion", "cudaVersion"),
        ("cuuint64_t flags", "flags"),
        ("CUdriverProcAddressQueryResult *symbolStatus", "symbolStatus")])
    # The functions of cudaGL.h that the stand-in has.
    resource = ("CUgraphicsResource *pCudaResource", "pCudaResource")
    params.setdefault("cuGraphicsGLRegisterBuffer", [
        resource, ("unsigned buffer", "buffer"), ("unsigned Flags", "Flags")])
    params.setdefault("cuGraphicsGLRegisterImage", [
        resource, ("unsigned image", "image"), ("unsigned target", "target"),
        ("unsigned Flags", "Flags")])
    cbids = set(re.findall(r"CUPTI_DRIVER_TRACE_CBID_(\w+)\s*=",
                           find_header("cupti_driver_cbid.h", args.include)))
    cbids -= {"INVALID", "SIZE", "FORCE_INT"}
    versions = read_versions(find_header("cudaTypedefs.h", args.include) +
                             find_header("cudaProfilerTypedefs.h", args.include))

    targets = {}
    for name in exports:
        base = PER_THREAD.sub("", name)
        if name not in params:
            targets[name] = None
        elif base != name and base in known and types(params[base]) == types(params[name]):
            targets[name] = base
        else:
            targets[name] = name
    bodies = sorted({target for target in targets.values() if target})

    head = ("// Generated from the toolkit's headers by simcuda/tools/generate_driver.py.\n")
    write_if_changed(os.path.join(args.out, "driver_api.h"), head + (
        "#ifndef SIMCUDA_DRIVER_API_H\n#define SIMCUDA_DRIVER_API_H\n"
        "#include \"simcuda/driver/cuda_headers.h\"\n"
        "namespace memprof::simcuda::api {\n" +
        "".join(f"CUresult {name}({signature(params[name])});\n" for name in bodies) +
        "}  // namespace memprof::simcuda::api\n#endif\n"))

    def default(name):
        newer = next((f"{name}_v{number}" for number in range(2, 5)
                      if types(params.get(f"{name}_v{number}", [])) == types(params[name])
                      and f"{name}_v{number}" in bodies and params[name]), None)
        if newer is None:
            parameters = ", ".join(types(params[name]))
            answer = "CUDA_ERROR_NOT_SUPPORTED"
        else:
            # The same parameters: only the meaning of the context differed.
            parameters = signature(params[name])
            answer = f"api::{newer}({', '.join(variable for _, variable in params[name])})"
        return f"[[gnu::weak]] CUresult {name}({parameters}) {{ return {answer}; }}\n"

    write_if_changed(os.path.join(args.out, "driver_defaults.cc"), head + (
        "#include \"driver_api.h\"\nnamespace memprof::simcuda::api {\n" +
        "".join(default(name) for name in bodies) +
        "}  // namespace memprof::simcuda::api\n"))

    for part in range(PART_COUNT):
        text = (head + "#include \"driver_api.h\"\n#include \"simcuda/driver/api_call.h\"\n"
                "using memprof::simcuda::ApiCall;\n"
                "using memprof::simcuda::PerThreadDefaultStream;\n"
                "namespace api = memprof::simcuda::api;\nextern \"C\" {\n")
        for index, name in enumerate(exports):
            if index % PART_COUNT == part and targets[name]:
                text += entry(index, name, targets[name], params, name in cbids)
        write_if_changed(os.path.join(args.out, f"driver_entries_{part}.cc"), text + "}\n")

    # Functions that this toolkit's headers do not describe take any parameters: 801 is not supported.
    untyped = "".join(f"int {name}(void);\nint {name}(void) {{ return 801; }}\n"
                      for name in exports if not targets[name])
    write_if_changed(os.path.join(args.out, "driver_untyped.c"),
                     "/* Generated by simcuda/tools/generate_driver.py. */\n"
                     "typedef int simcuda_not_empty;\n" + untyped)

    # A table of addresses, whose declarations must not contradict the header's: only names, as void().
    text = head + "#include \"simcuda/driver/tables.h\"\nextern \"C\" {\n"
    text += "".join(f"void {name}();\n" for name in exports) + "}\n"
    text += "namespace memprof::simcuda {\nconst ExportedFunction kExports[] = {\n"
    text += "".join(f"    {{\"{name}\", &{name}}},\n" for name in exports)
    text += f"}};\nconst int kExportCount = {len(exports)};\n"
    rows = []
    for base in sorted(set(versions) | {PER_THREAD.sub("", name) for name in exports}):
        names = variants(base, known)
        known_versions = versions.get(base, [])
        for order, name in enumerate(names):
            if re.search(r"_v\d+$", name) and order == 0:
                continue
            version = known_versions[order] if order < len(known_versions) else 2000
            threaded = next((name + suffix for suffix in ("_ptsz", "_ptds")
                             if name + suffix in known), None)
            rows.append((base, version, exports.index(name),
                         exports.index(threaded) if threaded else -1))
    text += "const ProcRow kProcs[] = {\n"
    text += "".join(f"    {{\"{b}\", {v}, {n}, {t}}},\n" for b, v, n, t in rows)
    text += f"}};\nconst int kProcCount = {len(rows)};\n"
    pairs = re.findall(r"CUPTI_DRIVER_TRACE_CBID_(\w+)\s*=\s*(\d+)",
                       find_header("cupti_driver_cbid.h", args.include))
    names = {int(number): name for name, number in pairs if name in cbids}
    size = max(names) + 1
    text += "const char* const kCbidNames[] = {\n"
    text += "".join(f"    \"{names[i]}\",\n" if i in names else "    nullptr,\n"
                    for i in range(size))
    text += f"}};\nconst unsigned kCbidCount = {size};\n"
    errors = re.findall(r"^\s+(CUDA_(?:SUCCESS|ERROR_\w+))\s*=\s*(\d+)",
                        find_header("cuda.h", args.include), re.M)
    text += "const ErrorRow kErrors[] = {\n"
    for name, number in sorted(set(errors), key=lambda error: int(error[1])):
        words = re.sub(r"^CUDA_(ERROR_)?", "", name).replace("_", " ").lower()
        text += f"    {{{number}, \"{name}\", \"{words}\"}},\n"
    text += f"}};\nconst int kErrorCount = {len(set(errors))};\n}}  // namespace memprof::simcuda\n"
    write_if_changed(os.path.join(args.out, "driver_tables.cc"), text)


if __name__ == "__main__":
    main()
