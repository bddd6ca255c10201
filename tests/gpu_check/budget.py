"""Time limits: how much of the remaining time each section may use, so that the later ones have enough."""

# The minimum time for a section, as a fraction of its limit.
_LEAST = 5
# With less than this, a section is not started.
WORTH_S = 4


def share(limit_s, left_s, later_limits_s):
    """Seconds for a section with limit `limit_s` when `left_s` remain and sections with the given limits follow; 0
    when it should not be started."""
    kept = sum(limit / _LEAST for limit in later_limits_s)
    given = min(limit_s, max(left_s - kept, min(limit_s / _LEAST, left_s)))
    return given if given >= WORTH_S else 0
