#!/usr/bin/env python3
"""Whether the settings that `memprof budget` names have the effect that it says, with the scheduler of vLLM
(engine.py): serves requests with the default setting, then with the lowest and the highest that the budget named, and
compares the number of blocks. Fetches vLLM once (0.35 GB, without its compiled parts 0.4 GB on disk); needs a PyTorch
that scripts/torch-sim has set up (docs/torch-sim.md), or the one of the Python MEMPROF_TORCH_PYTHON.

usage: studies/serving/study.py [FOLDER]     (default build/serving)
"""

import glob
import json
import os
import subprocess
import sys
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(ROOT, "build")
MEMPROF = os.path.join(BUILD, "bin", "memprof")
PYTHON = os.environ.get("MEMPROF_TORCH_PYTHON", os.path.join(BUILD, "torch", "venv", "bin", "python"))
VLLM = "vllm==0.33.0"
# What its scheduler imports, without what PyTorch brings.
PACKAGES = """aiohappyeyeballs aiohttp aiosignal annotated-types anyio attrs blake3 cachetools cbor2 certifi
    charset-normalizer cloudpickle einops frozenlist h11 hf-xet httpcore httpcore2 httpx httpx2 huggingface_hub idna
    jsonschema jsonschema-specifications msgspec multidict openai openai-harmony orjson packaging pillow prometheus_client propcache psutil
    py-cpuinfo pybase64 pydantic pydantic-core python-json-logger pyyaml pyzmq referencing regex requests rpds-py
    safetensors setproctitle sniffio tokenizers tqdm transformers truststore typing-inspection urllib3 xxhash
    yarl""".split()
REQUESTS = 60


def fetch(folder):
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-cache-dir"]
    subprocess.run([*pip, "install", "--quiet", "--no-deps", "--target", folder, *PACKAGES], check=True)
    subprocess.run([*pip, "download", "--quiet", "--no-deps", "-d", folder, VLLM], check=True)
    for wheel in glob.glob(os.path.join(folder, "vllm-*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder, [name for name in archive.namelist() if not name.endswith(".so")])
        os.remove(wheel)


def serve(folder, setting):
    """The budget of a run."""
    log = os.path.join(folder, "serve.mprof")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((os.path.join(HERE, "stubs"), folder)),
                   "VLLM_LOGGING_LEVEL": "ERROR"}
    subprocess.run([MEMPROF, "run", "--torch", "--sim=memory=16GiB", "-o", log, "--",
                    PYTHON, os.path.join(HERE, "engine.py"), str(REQUESTS),
                    str(setting)], env=environment, check=True, stdout=subprocess.DEVNULL)
    asked = subprocess.run([MEMPROF, "budget", "--json", log], capture_output=True, text=True, check=True)
    return json.loads(asked.stdout)["devices"][0]


def main():
    folder = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(BUILD, "serving"))
    if not os.path.isdir(os.path.join(folder, "vllm")):
        fetch(folder)
    first = serve(folder, 0.9)
    parts, setting = first["parts"], first["pools"][0]["setting"]
    unexplained = parts["unexplained"] / first["total_bytes"]
    print("setting 0.90: %d blocks, %d in use at most; unexplained %.2f %%" % (
        first["pools"][0]["blocks"], first["pools"][0]["most"]["blocks"], 100 * unexplained))
    right = sum(parts.values()) == first["total_bytes"] + first["elsewhere_bytes"] and unexplained <= 0.01
    for name in ("needed", "possible"):
        value = setting[name]
        pool = serve(folder, value["value"])["pools"][0]
        print("setting %.2f (%s): said %d blocks, got %d; %d in use at most" % (
            value["value"], name, value["blocks"], pool["blocks"], pool["most"]["blocks"]))
        right = right and pool["blocks"] == value["blocks"] and \
            pool["most"]["blocks"] == first["pools"][0]["most"]["blocks"]
    sys.exit(0 if right else 1)


if __name__ == "__main__":
    main()
