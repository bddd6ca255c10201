"""Fetches every cuda.h from CUDA 11.8 to 13.5, and NVIDIA's libcuda of one driver of each series that Debian has.

    fetch.py FOLDER

makes FOLDER/headers/VERSION/*.h, from the wheels of CUDA's runtime in the Python package index, and
FOLDER/drivers/VERSION/libcuda.so.1, from Debian's non-free section. Nothing is installed: the packages are unpacked
(dpkg-deb). About 50 MB are fetched. What is there is kept. The status is 1, with a line for each thing that is missing,
if something could not be fetched.
"""

import lzma
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request
import zipfile

# A release that is not here is not looked at, so that none can fail this project's tests on the day when it appears.
HEADERS = {
    "nvidia-cuda-runtime-cu11": ["11.8.89"],
    "nvidia-cuda-runtime-cu12": ["12.0.146", "12.1.105", "12.2.140", "12.3.101", "12.4.127", "12.5.82", "12.6.77",
                                 "12.8.90", "12.9.79"],
    "nvidia-cuda-runtime": ["13.0.96", "13.1.80", "13.2.75", "13.3.29", "13.4.92", "13.5.37"],
}
SUITES = ["bullseye", "bookworm", "trixie", "sid", "experimental"]
MIRROR = os.environ.get("MEMPROF_DEBIAN_MIRROR", "http://deb.debian.org") + "/debian/"
# libcuda of the series 390 and 418 needs a loader of code that has a package of its own.
DRIVER = re.compile(
    r"^Filename: (\S*/(?:libcuda1|libnvidia-[^/]*(?:cuda1|fatbinaryloader))_([\d.]+)\S*_amd64\.deb)$", re.M)


def fetch_headers(package, version, folder):
    name = ".".join(version.split(".")[:2])
    to = folder / "headers" / name
    if to.is_dir():
        return
    with tempfile.TemporaryDirectory() as wheels:
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                        "--only-binary=:all:", "--platform=manylinux2014_x86_64", "--platform=manylinux_2_17_x86_64",
                        "--platform=manylinux1_x86_64", "--dest", wheels, f"{package}=={version}"],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        unfinished = to.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        with zipfile.ZipFile(next(pathlib.Path(wheels).glob("*.whl"))) as wheel:
            for member in wheel.namelist():
                base = member.rsplit("/", 1)[-1]
                if re.fullmatch(r"cuda(GL|EGL|VDPAU)?(Typedefs)?\.h", base):
                    (unfinished / base).write_bytes(wheel.read(member))
        unfinished.rename(to)


def read(url):
    with urllib.request.urlopen(url, timeout=60) as answer:
        return answer.read()


def newest_drivers():
    """[(version, paths)], the newest version of each series."""
    paths = {}
    for suite in SUITES:
        packages = lzma.decompress(read(f"{MIRROR}dists/{suite}/non-free/binary-amd64/Packages.xz")).decode()
        for path, version in DRIVER.findall(packages):
            # Newer loaders are within libcuda; of a version that several suites have, any package will do.
            paths.setdefault(version, {})[re.search(r"cuda1|fatbinaryloader", path)[0]] = path
    newest = {}
    for version in sorted(paths, key=lambda version: [int(part) for part in version.split(".")]):
        if "cuda1" in paths[version] and int(version.split(".")[0]) >= 390:  # 340 is CUDA 6.5's
            newest[version.split(".")[0]] = version
    return [(version, list(paths[version].values())) for version in newest.values()]


def fetch_driver(version, paths, folder):
    to = folder / "drivers" / version
    if to.is_dir():
        return
    with tempfile.TemporaryDirectory() as unpacked:
        for path in paths:
            package = pathlib.Path(unpacked) / "driver.deb"
            package.write_bytes(read(MIRROR + path))
            subprocess.run(["dpkg-deb", "-x", package, unpacked], check=True, stdout=subprocess.DEVNULL)
        unfinished = to.with_name(to.name + ".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        for library in pathlib.Path(unpacked).glob(f"usr/lib/x86_64-linux-gnu/**/lib*.so.{version}"):
            if library.name.startswith(("libcuda.so", "libnvidia-fatbinaryloader.so")):
                name = "libcuda.so.1" if library.name.startswith("libcuda.so") else library.name
                shutil.copyfile(library, unfinished / name)
        unfinished.rename(to)


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 0 if sys.argv[1:] in (["-h"], ["--help"]) else 2
    folder = pathlib.Path(sys.argv[1])
    missing = []

    def attempt(what, function, *arguments):
        try:
            return function(*arguments)
        except (OSError, StopIteration, lzma.LZMAError, subprocess.CalledProcessError, zipfile.BadZipFile) as error:
            missing.append(f"{what}: {error}")
            return []

    for package, versions in HEADERS.items():
        for version in versions:
            attempt(f"headers {version}", fetch_headers, package, version, folder)
    for version, paths in attempt("list of drivers", newest_drivers):
        attempt(f"driver {version}", fetch_driver, version, paths, folder)
    for line in missing:
        print(f"fetch.py: {line}", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
