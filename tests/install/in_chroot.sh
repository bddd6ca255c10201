#!/usr/bin/env bash
# Run in a chroot by scripts/test-install, with the wheel beside it: installs it, and uses everything once.
# usage: in_chroot.sh [1: also with PyTorch]
set -euo pipefail
cd "$(dirname "$0")"
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
milliseconds() { echo $(($(date +%s%N) / 1000000)); }

begin=$(milliseconds)
python3 -m venv v
made=$(milliseconds)
v/bin/pip install --quiet --no-index --disable-pip-version-check memprof_gpu-*.whl || fail "pip install"
installed=$(milliseconds)
v/bin/memprof run --sim -o demo.mprof -- v/bin/demo_trainer --quiet --layers 1 --dim 32 --steps 12 --leak history 2>run.txt \
  || fail "recording the demo: $(cat run.txt)"
recorded=$(milliseconds)
v/bin/memprof verify demo.mprof >verify.txt || fail "verify: $(cat verify.txt)"
v/bin/memprof report demo.mprof >report.txt || fail "report"
v/bin/memprof leaks demo.mprof >leaks.txt || fail "leaks"
grep -q 'suspected leak: 1.00 MiB per step at RememberHistory (history.cc:' leaks.txt || fail "leaks: $(cat leaks.txt)"
reported=$(milliseconds)
v/bin/memprof-viewer --screenshot demo.png demo.mprof || fail "the viewer"
[ "$(head -c4 demo.png | tail -c3)" = PNG ] && [ "$(stat -c %s demo.png)" -gt 20000 ] || fail "the picture is empty"
drawn=$(milliseconds)
v/bin/python -c 'import memprof; memprof.step(1)' || fail "the Python module"
v/bin/python preload_all.py v/lib/libmemprof.so || fail "programs differ with the recorder preloaded"
v/bin/memprof run -o none.mprof -- /bin/true 2>true.txt || fail "recording /bin/true: $(cat true.txt)"
grep -q 'used no GPU' true.txt || fail "/bin/true: $(cat true.txt)"
echo "installed in $((installed - made)) ms, recorded in $((recorded - installed)) ms," \
  "reported in $((reported - recorded)) ms, drawn in $((drawn - reported)) ms"
[ "${1:-}" = 1 ] || exit 0

# Without dependencies: those of PyTorch include NVIDIA's libraries, which the stand-ins replace.
v/bin/pip install --quiet --no-index --no-deps --disable-pip-version-check wheels/*.whl || fail "installing PyTorch"
v/bin/memprof run --sim --torch -o torch.mprof -- v/bin/python train.py 2>torch.txt || fail "PyTorch: $(cat torch.txt)"
v/bin/memprof report torch.mprof >torch-report.txt || fail "report of PyTorch"
v/bin/memprof leaks torch.mprof >torch-leaks.txt || fail "leaks of PyTorch"
grep -q 'train.py:' torch-leaks.txt || fail "PyTorch's leak: $(cat torch-leaks.txt)"
echo "$(v/bin/python -V), PyTorch $(v/bin/pip list 2>/dev/null | sed -n 's/^torch  *//p'):" \
  "$(grep -m1 'Peak' torch-report.txt | sed 's/^ *//')"
