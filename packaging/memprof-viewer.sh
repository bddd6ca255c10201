#!/bin/sh
# Starts the viewer with the loader and the libraries that it brings along, so that those of the
# machine do not matter. Only this process uses them: what the viewer starts has the machine's own.
here=$(dirname "$(readlink -f "$0")")/../lib/memprof/viewer
[ -d /usr/share/X11/xkb ] || export XKB_CONFIG_ROOT="${XKB_CONFIG_ROOT:-$here/xkb}"
export FONTCONFIG_FILE="${FONTCONFIG_FILE:-$here/fonts/fonts.conf}"
export QT_WAYLAND_DISABLE_HW_INTEGRATION=1  # painted by the processor; no EGL is brought along
for loader in "$here"/ld-linux-*; do
  exec "$loader" --inhibit-cache --library-path "$here/lib" "$here/memprof-viewer" "$@"
done
