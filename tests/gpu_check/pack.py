"""Copies what scripts/gpu-check needs into one folder, for a machine that cannot build it."""
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
# Libraries that always come from the machine: the C library and its loader.
_MACHINES = ("ld-linux", "libc.so", "libm.so", "libpthread.so", "libdl.so", "librt.so", "linux-vdso")
# These may need a newer C library than the machine has; such a machine's own versions are usually new enough.
_CXX = ("libstdc++.so", "libgcc_s.so")


def needed_libraries(program):
    """Paths of a program's shared libraries that the machine may lack."""
    told = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    pairs = [line.split() for line in told.splitlines() if "=>" in line]
    missing = [words[0] for words in pairs if words[2] == "not"]
    if missing:
        raise OSError(f"{program}: {', '.join(missing)} not found")
    return [Path(words[2]) for words in pairs if not words[0].startswith(_MACHINES)]


def _copy(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)


def pack(build, toolkit, folder):
    """Copies programs, libraries and this folder's files into `folder`, which must be new or empty.
    Returns the bytes copied."""
    folder = Path(folder)
    if folder.exists() and any(folder.iterdir()):
        raise OSError(f"{folder} is not empty")
    _copy(ROOT / "scripts/gpu-check", folder / "scripts/gpu-check")
    for module in (ROOT / "tests/gpu_check").glob("*.py"):
        if module.name.endswith("_test.py") or module.name == "fixtures.py":
            continue
        _copy(module, folder / "tests/gpu_check" / module.name)
    # The scripts that the sections on PyTorch run and compare with.
    for file in sorted((ROOT / "tests/torch").rglob("*")):
        if file.is_file() and file.parent.name in ("torch", "scripts", "memory_history") and \
                file.suffix == ".py" and not file.name.endswith("_test.py"):
            _copy(file, folder / file.relative_to(ROOT))
    wanted = ["bin/memprof", "bin/demo_trainer", "lib/libmemprof.so", "lib/libmemprof_cupti.so"]
    for name in wanted + [f"gpu_check/{program.name}" for program in (build / "gpu_check").iterdir()]:
        if (build / name).is_file():
            _copy(build / name, folder / "build" / name)
    if (build / "share").is_dir():
        shutil.copytree(build / "share", folder / "build/share")
    for library in needed_libraries(build / "bin/memprof"):
        place = "carried/cxx" if library.name.startswith(_CXX) else "carried"
        _copy(library, folder / "build" / place / library.name)
    for part in ("lib64", "lib", "extras/CUPTI/lib64"):
        for library in sorted((toolkit / part).glob("libcu*.so.[0-9]*")) if toolkit else []:
            if library.name.startswith(("libcudart.so", "libcupti.so")) and not library.is_symlink():
                _copy(library, folder / "build/carried/cuda" / ".".join(library.name.split(".")[:3]))
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
