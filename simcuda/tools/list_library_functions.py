#!/usr/bin/env python3
"""Lists the functions of the math and communication libraries, with the parameters to which a stand-in
must write, and what: simcuda/libraries/functions.txt.

    list_library_functions.py --include /usr/local/cuda/include >simcuda/libraries/functions.txt

It only reads public headers. The list is committed, so that the headers are not needed to build or
use the stand-ins. The beginning of the list describes its format (HEAD below)."""

import argparse
import os
import re
import sys

HEAD = """\
# Functions of CUDA's math and communication libraries, and what their stand-ins write.
# Made by simcuda/tools/list_library_functions.py from public headers; the last part by hand.
# [library] begins a library; then one function a line, with rules:
#   handle@I   *argument I = a new handle        free@I     argument I is a handle that dies
#   size4@I    *argument I = a workspace size    zero4@I    *argument I = 0
#   id4@I      *argument I = a number of its own version4@I *argument I = the library's version
#   minus4@I   *argument I = -1                  text       returns a short text
#   version    returns the library's version     property4@1 *argument 1 = part of the version
#   major4@I   *argument I = its major version   minor4@I   *argument I = its minor version
#   fails      returns 15
# The digit is the size in bytes; arguments count from 0, floating-point ones left out.
"""

# library, its header files, prefix of its functions
HEADERS = [
    ("libcublas", ["cublas_api.h", "cublasXt.h"], "cublas"),
    ("libcublasLt", ["cublasLt.h"], "cublasLt"),
    ("libcudnn", ["cudnn_graph.h", "cudnn_ops.h", "cudnn_cnn.h", "cudnn_adv.h"], "cudnn"),
    ("libcufft", ["cufft.h", "cufftXt.h"], "cufft"),
    ("libcurand", ["curand.h"], "curand"),
    ("libcusolver", ["cusolverDn.h", "cusolverSp.h", "cusolverRf.h"], "cusolver"),
    ("libcusparse", ["cusparse.h"], "cusparse"),
    ("libnccl", ["nccl.h"], "(?:p?nccl)"),
    ("libnvrtc", ["nvrtc.h"], "nvrtc"),
]

# Functions that are in none of these headers, or whose parameters' names do not show what to write.
OVERRIDES = {
    "cusparseXcsrgeam2Nnz": ["zero4@11"],
    "cusparseXcsrgemm2Nnz": ["zero4@15"],
    "cusparseXbsrsm2_zeroPivot": ["minus4@2"],
    "cusparseXbsrsv2_zeroPivot": ["minus4@2"],
    "cusparseXcsrilu02_zeroPivot": ["minus4@2"],
    "cusparseXcsric02_zeroPivot": ["minus4@2"],
    "cudnnGetBatchNormalizationTrainingExReserveSpaceSize": ["zero8@5"],
    "nvrtcVersion": ["major4@0", "minor4@1"],
}
BY_HAND = """
[libcusparseLt]
cusparseLtGetVersion version4@1
cusparseLtMatmulGetWorkspace size8@2
cusparseLtSpMMACompressedSize size8@2 size8@3
cusparseLtSpMMACompressedSize2 size8@2 size8@3

[libcufile]
cuFileDriverOpen
cuFileDriverClose

[libnvshmem_host]
nvshmemid_init_status

[libnvToolsExt]
nvtxRangePushA
nvtxRangePop

[libnvidia-ml]
nvmlInit
nvmlInit_v2
nvmlInitWithFlags
nvmlShutdown
nvmlErrorString text

[libcupti]
cuptiActivityEnable fails
cuptiActivityRegisterCallbacks fails
cuptiSubscribe fails
"""

SIZE_NAME = re.compile(
    r"lwork|buffer_?size|bufferSizeInBytes|workspace(size)?(in)?bytes|worksize|workspacesize|"
    r"sizeinbytes|spacesize|statesize|logsize", re.I)
FLOATING = {"float", "double", "cuComplex", "cuDoubleComplex", "cuFloatComplex", "__half"}
WIDTH = {"int": 4, "unsigned": 4, "unsigned int": 4, "int32_t": 4, "uint32_t": 4, "float": 4,
         "size_t": 8, "int64_t": 8, "uint64_t": 8, "double": 8, "long long": 8,
         "long long int": 8}
POINTED_STRUCT = re.compile(r"typedef\s+(?:const\s+)?struct\s[^;{}()]*\*\s*(\w+)[^;{}()*]*;")
ENUMERATION = re.compile(r"typedef\s+enum\s*\w*\s*\{[^}]*\}\s*(\w+)\s*;")


def clean(text):
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"//[^\n]*", " ", text)
    return re.sub(r"^\s*#(?:[^\n]*\\\n)*[^\n]*", " ", text, flags=re.M)


def split_parameter(text):
    """(type without const, number of stars, is const, name)"""
    text = re.sub(r"\[[^\]]*\]", "*", text)
    stars = text.count("*")
    constant = bool(re.search(r"\bconst\b", text))
    words = re.sub(r"\b(const|struct|enum)\b|\*", " ", text).split()
    name = words.pop() if len(words) > 1 and words[-1] not in WIDTH else ""
    return " ".join(words), stars, constant, name


def rules_of(name, parameters, pointers, enumerations):
    rules = []
    index = -1
    parsed = [split_parameter(one) for one in parameters]
    for kind, stars, constant, argument in parsed:
        if stars == 0 and kind in FLOATING:
            continue
        index += 1
        if stars == 0:
            if re.search("[Dd]estroy", name) and index == 0:
                rules.append("free@0" if kind in pointers else "")
            continue
        if constant or stars > 2:
            continue
        width = 8 if stars == 2 or kind in pointers else \
            4 if kind in enumerations or kind.endswith("Mode_t") else WIDTH.get(kind, 0)
        handle = kind in pointers or (kind.endswith("_t") and kind not in WIDTH and
                                      kind not in enumerations)
        if stars == 1 and handle and re.search("[Cc]reate|WindowRegister", name):
            rules.append(f"handle@{index}")
        elif kind == "cufftHandle":
            rules.append(f"id4@{index}")
        elif stars == 1 and kind in WIDTH and SIZE_NAME.search(argument):
            rules.append(f"size{width}@{index}")
        elif width == 4 and re.search("GetVersion|GetProperty", name):
            rules.append(f"property4@{index}" if "Property" in name else f"version4@{index}")
        elif width and re.search("Get", name):
            rules.append(f"zero{width}@{index}")
    return [rule for rule in rules if rule]


def functions_of(text, prefix, pointers, enumerations):
    for match in re.finditer(
            rf"([\w\s\*]+?)\b({prefix}\w*)\s*\(([^;{{}}]*?)\)\s*;", text, flags=re.S):
        before, name, inside = match.groups()
        if "typedef" in before or "(" in inside or not before.strip():
            continue
        parameters = [one.strip() for one in inside.split(",") if one.strip() not in ("", "void")]
        rules = OVERRIDES.get(name) or rules_of(name, parameters, pointers, enumerations)
        if re.search(r"char\s*\*", before):
            rules = ["text"]
        elif "size_t" in before.split():
            rules = ["version"]
        yield name, rules


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--include", required=True, help="folder with the public headers")
    args = parser.parse_args()
    texts = {}
    for _, files, _ in HEADERS:
        for file in files:
            with open(os.path.join(args.include, file), encoding="utf-8", errors="replace") as one:
                texts[file] = clean(one.read())
    everything = "\n".join(texts.values())
    pointers = set(POINTED_STRUCT.findall(everything)) | {"ncclComm_t", "ncclWindow_t"}
    enumerations = set(ENUMERATION.findall(everything))
    lines = [HEAD]
    for library, files, prefix in HEADERS:
        found = {}
        for file in files:
            for name, rules in functions_of(texts[file], prefix, pointers, enumerations):
                if library == "libcublas" and name.startswith("cublasLt"):
                    continue
                found.setdefault(name, rules)
        lines.append(f"[{library}]")
        lines += [" ".join([name] + found[name]) for name in sorted(found)]
        lines.append("")
    sys.stdout.write("\n".join(lines).rstrip("\n") + "\n" + BY_HAND)


if __name__ == "__main__":
    main()
