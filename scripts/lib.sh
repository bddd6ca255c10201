# Set-up shared by scripts/build, scripts/demo and scripts/test. Sourced, not run.
#
# ensure_packages   Debian packages that the build and the tests need
# ensure_toolkit    a CUDA toolkit: sets CUDA_ROOT; fetches the toolkit's Python wheels if there is none
# configure_and_build PRESET [TARGET…]

set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '==> %s\n' "$*"; }
die() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

# What each is for: docs/dependencies.md.
packages=(
  g++ cmake ninja-build ccache python3 python3-pip pkg-config ca-certificates
  libabsl-dev libprotobuf-dev protobuf-compiler libzstd-dev libsqlite3-dev
  libunwind-dev libdw-dev libelf-dev nlohmann-json3-dev
  qt6-base-dev qt6-svg-dev libgl1-mesa-dev fonts-dejavu-core xvfb xauth
  libgtest-dev libgmock-dev lld
  zsh fish bash-completion groff-base desktop-file-utils
)
# Ubuntu 22.04 has another name for one of the packages; the names above are those of Debian 12 and
# Ubuntu 24.04, and of later releases.
release=$(. /etc/os-release 2>/dev/null && echo "${ID:-} ${VERSION_ID:-}") || release=
case $release in
  "ubuntu 22.04") packages=("${packages[@]/#qt6-svg-dev/libqt6svg6-dev}") ;;
esac

ensure_packages() {
  command -v dpkg-query >/dev/null || { say "not a Debian system: expecting the packages of docs/dependencies.md to be there"; return 0; }
  local installed missing=() package
  installed=$(dpkg-query -W -f='${db:Status-Abbrev}${binary:Package}\n' 2>/dev/null | sed -n 's/^ii  *//p' | sed 's/:.*//')
  for package in "${packages[@]}"; do
    grep -qxF "$package" <<<"$installed" || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  if [ "$(id -u)" -ne 0 ]; then
    die "these Debian packages are missing, and only root can install them: ${missing[*]}"
  fi
  say "installing ${#missing[@]} Debian packages: ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq || die "apt-get update failed"
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null \
    || die "could not install: ${missing[*]}"
}

# A usable toolkit has nvcc of 11.8 or newer, cudart and CUPTI's header.
toolkit_ok() {
  local nvcc=$1/bin/nvcc version
  [ -x "$nvcc" ] || return 1
  version=$("$nvcc" --version 2>/dev/null | sed -n 's/.*release \([0-9]*\.[0-9]*\).*/\1/p')
  [ -n "$version" ] && [ "$(printf '%s\n11.8\n' "$version" | sort -V | head -n1)" = 11.8 ] || return 1
  [ -f "$1/include/cupti.h" ] || [ -f "$1/extras/CUPTI/include/cupti.h" ]
}

toolkit_wheels=(
  nvidia-cuda-nvcc==13.0.88 nvidia-cuda-crt==13.0.88 nvidia-nvvm==13.0.88
  nvidia-cuda-runtime==13.0.96 nvidia-cuda-cccl==13.0.85 nvidia-cuda-cupti==13.0.85
  nvidia-nvtx==13.0.85
)

ensure_toolkit() {
  local candidate fetched=$root/build/cuda/nvidia/cu13
  if [ -z "${MEMPROF_FETCH_TOOLKIT:-}" ]; then
    for candidate in "${CUDA_HOME:-}" "${CUDA_PATH:-}" \
        "$(command -v nvcc >/dev/null && dirname "$(dirname "$(readlink -f "$(command -v nvcc)")")")" \
        /usr/local/cuda; do
      if [ -n "$candidate" ] && toolkit_ok "$candidate"; then CUDA_ROOT=$candidate; return 0; fi
    done
  fi
  if ! toolkit_ok "$fetched"; then
    say "no CUDA toolkit (11.8 or newer, with CUPTI) found: fetching its Python wheels into build/cuda (about 150 MB)"
    rm -rf "$root/build/cuda"
    PIP_ROOT_USER_ACTION=ignore python3 -m pip install --quiet --no-deps --disable-pip-version-check \
      --target "$root/build/cuda" "${toolkit_wheels[@]}" \
      || die "could not fetch the CUDA toolkit; install one (11.8 or newer) and set CUDA_HOME"
    # The wheels carry only versioned libraries and a folder named lib.
    ln -sf libcudart.so.13 "$fetched/lib/libcudart.so"
    [ -e "$fetched/lib64" ] || ln -s lib "$fetched/lib64"
    toolkit_ok "$fetched" || die "the fetched CUDA toolkit is not usable (nvcc or cupti.h missing in $fetched)"
  fi
  CUDA_ROOT=$fetched
}

configure_and_build() {
  local preset=$1; shift
  local dir=$root/build; [ "$preset" = release ] || dir=$root/build-$preset
  cd "$root"
  if [ ! -f "$dir/build.ninja" ] || ! grep -qF "CUDAToolkit_ROOT:UNINITIALIZED=$CUDA_ROOT" "$dir/CMakeCache.txt" 2>/dev/null; then
    say "configuring ($preset), toolkit in $CUDA_ROOT"
    cmake --preset "$preset" -DCUDAToolkit_ROOT:UNINITIALIZED="$CUDA_ROOT" -DCMAKE_CUDA_COMPILER="$CUDA_ROOT/bin/nvcc" \
      >"$root/build-configure.log" 2>&1 || { cat "$root/build-configure.log" >&2; die "configuring failed"; }
    rm -f "$root/build-configure.log"
  fi
  say "building ($preset)"
  cmake --build --preset "$preset" "$@"
}
