"""Sizes as the command writes them (analysis/base/units.cc)."""

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def three(value):
    """Three significant digits, never in scientific notation."""
    size_ = abs(value)
    return "%.*f" % (2 if size_ < 9.995 else 1 if size_ < 99.95 else 0, value)


def size(count):
    """Bytes as text: 1.50 GiB."""
    unit = 0
    while unit + 1 < len(_UNITS) and abs(count) >= 1023.5:
        count /= 1024
        unit += 1
    if unit == 0:
        return "%.*f B" % (0 if count == int(count) else 1, count)
    return three(count) + " " + _UNITS[unit]
