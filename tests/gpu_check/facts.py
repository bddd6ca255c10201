"""Facts about the machine, collected before the checks: they explain verdicts, and may cause warnings."""
import datetime
import os
import platform
import shutil
import subprocess
from pathlib import Path

MIB = 1 << 20


def lines_of(command, most_s=10):
    """Lines of a program's output; none if the program is missing, fails or hangs."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=most_s, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return done.stdout.strip().splitlines() if done.returncode == 0 else []


def read(path):
    try:
        return Path(path).read_text(errors="replace").strip()
    except OSError:
        return ""


def version(number):
    """12040 -> 12.4"""
    return f"{number // 1000}.{number % 1000 // 10}"


def shared_memory():
    try:
        space = os.statvfs("/dev/shm")
    except OSError:
        return None
    return space.f_bavail * space.f_frsize


def smi(*fields):
    told = lines_of(["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader"])
    return "; ".join(told)


def describe(device):
    """(facts, warnings) from the output of the guest `device`."""
    compute_mode = {0: "shared", 2: "prohibited", 3: "one process alone"}.get(device["compute_mode"], "unknown")
    known = [("GPU", f"{device['name']}, {device['total'] / MIB:,.0f} MiB of which {device['free'] / MIB:,.0f} free, "
                     f"capability {device['capability_major']}.{device['capability_minor']}, {device['devices']} in all"),
             ("driver serves CUDA", version(device["driver_version"])), ("compute mode", compute_mode)]
    warnings = []
    if not device["pools"]:
        warnings.append("The device has no memory pools: stream-ordered families are skipped.")
    if not device["vmm"]:
        warnings.append("The device cannot map memory by hand: VMM families are skipped.")
    if device["free"] < 2048 * MIB:
        warnings.append("Little of the device's memory is free: families may be skipped for want of it.")
    if device["compute_mode"] == 3:
        warnings.append("The device serves one process at a time: what needs two is skipped.")
    return known, warnings


def surroundings(shared_bytes, load, cpus):
    """Warnings about free resources of the machine. `shared_bytes`: None if there is no /dev/shm."""
    warnings = []
    if shared_bytes is None or shared_bytes < 300 * MIB:
        warnings.append("/dev/shm has less room than memprof's rings may take: after a SIGKILL events may be missing.")
    if load > cpus / 2:
        warnings.append("The machine was busy before the check began: figures of time mean little.")
    return warnings


def of_machine(machine, device):
    """(facts, warnings). `device` is the output of the guest with that name."""
    known, warnings = describe(device)
    if not machine.stand_in:
        known.append(("by nvidia-smi", smi("driver_version", "mig.mode.current", "persistence_mode", "memory.used")
                      or "there is no nvidia-smi"))
        if "Enabled" in smi("mig.mode.current"):
            warnings.append("The device is cut up (MIG): NVML's figures of it are of the whole, and are not used.")
        module = read("/proc/driver/nvidia/version").splitlines()
        known.append(("kernel module", module[0] if module else "unknown"))
        users = lines_of(["nvidia-smi", "--query-compute-apps=pid,used_memory", "--format=csv,noheader"])
        if users:
            warnings.append(f"{len(users)} other processes use the GPU: figures of free memory may move by themselves.")
    space = shared_memory()
    known += [("system", f"{platform.platform(terse=True)}, {' '.join(platform.libc_ver())}, "
                         f"Python {platform.python_version()}"),
              ("CPUs, load before", f"{os.cpu_count()}, {os.getloadavg()[0]:.1f}"),
              ("free in /dev/shm", "there is none" if space is None else f"{space / MIB:,.0f} MiB"),
              ("toolkit", machine.toolkit or "none found"),
              ("compute-sanitizer", shutil.which("compute-sanitizer") or "not on the path"),
              ("memprof", machine.memprof_says("--version").strip()),
              ("date", datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"))]
    return known, warnings + surroundings(space, os.getloadavg()[0], os.cpu_count() or 1)
