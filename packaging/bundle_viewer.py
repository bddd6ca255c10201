#!/usr/bin/env python3
"""Makes a folder with the viewer and all that it needs: its libraries, Qt's plugins, fonts, the C
library and the loader. It then runs on every Linux of its architecture, whatever is installed there.

usage: bundle_viewer.py --program BUILD/bin/memprof-viewer --root / --out PREFIX/lib/memprof/viewer

--root is the folder in which the libraries' packages are unpacked: / or a sysroot. Fonts, keyboards and
licences, the same for each architecture, are those of this machine. packaging/memprof-viewer.sh starts the
result.
"""
import argparse
import glob
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "simcuda", "tools"))
import small_icu  # noqa: E402
from elf_imports import Imports, machine_of  # noqa: E402

LOADERS = {"x86_64": "lib64/ld-linux-x86-64.so.2", "aarch64": "lib/ld-linux-aarch64.so.1"}
# Windows on X11 and Wayland, pictures without a display, and drawings as icons. No plugin that needs OpenGL:
# everything is painted by the processor.
PLUGINS = ["platforms/libqxcb.so", "platforms/libqoffscreen.so", "platforms/libqwayland-generic.so",
           "wayland-shell-integration/libxdg-shell.so", "wayland-decoration-client/libbradient.so",
           "iconengines/libqsvgicon.so", "imageformats/libqsvg.so",
           "platforminputcontexts/libcomposeplatforminputcontextplugin.so",
           "platforminputcontexts/libibusplatforminputcontextplugin.so"]
FONTS = ["DejaVuSans.ttf", "DejaVuSans-Bold.ttf", "DejaVuSansMono.ttf", "DejaVuSansMono-Bold.ttf"]
# What fontconfig reads on this machine, if there is something, and then our fonts.
FONTS_CONF = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
  <dir prefix="relative">.</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
"""


class Failure(Exception):
    pass


class Bundle:
    def __init__(self, root, machine, out, strip):
        self.root, self.machine, self.out, self.strip = root, machine, out, strip
        triplet = f"{machine}-linux-gnu"
        self.folders = [os.path.join(root, path) for path in
                        (f"lib/{triplet}", f"usr/lib/{triplet}", "lib64", "usr/lib")]
        self.taken = {}  # soname: path of the original

    def find(self, soname):
        for folder in self.folders:
            path = os.path.join(folder, soname)
            if os.path.exists(path):
                return path
        raise Failure(f"{soname} is not in {', '.join(self.folders)}")

    def copy(self, path, name):
        target = os.path.join(self.out, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(os.path.realpath(path), target)
        os.chmod(target, 0o755)
        return target

    def add(self, path, name):
        """Copies a binary and, into lib/, what it needs."""
        target = self.copy(path, name)
        for soname in Imports(target).needed:
            if soname not in self.taken and not soname.startswith("ld-linux"):
                self.taken[soname] = self.find(soname)
                self.add(self.taken[soname], os.path.join("lib", soname))
        if not os.path.basename(name).startswith("ld-linux"):
            subprocess.run([self.strip, "--strip-unneeded", target], check=True)


def write_fonts(out):
    folder = os.path.join(out, "fonts")
    os.makedirs(folder, exist_ok=True)
    for name in FONTS:
        shutil.copyfile(os.path.join("/usr/share/fonts/truetype/dejavu", name), os.path.join(folder, name))
    with open(os.path.join(folder, "fonts.conf"), "w", encoding="utf-8") as file:
        file.write(FONTS_CONF)


def write_licenses(bundle):
    """The copyright file of each Debian package of which a file is in the bundle."""
    folder = os.path.join(bundle.out, "licenses")
    os.makedirs(folder, exist_ok=True)
    packages = {"fonts-dejavu-core", "xkb-data", "libc6"}
    for path in bundle.taken.values():
        relative = os.path.relpath(os.path.realpath(path), bundle.root)
        # The build machine has the same packages, if perhaps for another architecture.
        query = subprocess.run(["dpkg-query", "-S", f"*/{os.path.basename(relative)}"], capture_output=True,
                               text=True, check=False)
        packages |= {line.split(":")[0] for line in query.stdout.splitlines()}
    for package in sorted(packages):
        source = os.path.join("/usr/share/doc", package, "copyright")
        if os.path.exists(source):
            shutil.copyfile(source, os.path.join(folder, package))


def make(args):
    machine = machine_of(args.program)
    bundle = Bundle(args.root, machine, args.out, args.strip)
    shutil.rmtree(args.out, ignore_errors=True)
    os.makedirs(args.out)
    bundle.add(args.program, "memprof-viewer")
    plugins = os.path.join(args.root, f"usr/lib/{machine}-linux-gnu/qt6/plugins")
    for plugin in PLUGINS:
        bundle.add(os.path.join(plugins, plugin), os.path.join("plugins", plugin))
    bundle.copy(os.path.join(args.root, LOADERS[machine]), os.path.basename(LOADERS[machine]))
    for library in glob.glob(os.path.join(args.out, "lib/libicudata.so.*")):
        small_icu.shrink(library, args.cc)
    with open(os.path.join(args.out, "qt.conf"), "w", encoding="utf-8") as file:
        file.write("[Paths]\nPlugins = plugins\n")
    write_fonts(args.out)
    shutil.copytree("/usr/share/X11/xkb", os.path.join(args.out, "xkb"), symlinks=False)
    write_licenses(bundle)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--root", default="/")
    parser.add_argument("--strip", default="strip")
    parser.add_argument("--cc", default="gcc")
    parser.add_argument("--out", required=True)
    try:
        make(parser.parse_args())
    except (Failure, OSError, subprocess.CalledProcessError) as error:
        print(f"bundle_viewer: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
