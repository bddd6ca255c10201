"""Time: how much of what is left each section may take, so that none takes what the others need."""

# What a section must be left at the least, as a part of its limit.
_LEAST = 5
# Less than this is not worth starting.
WORTH_S = 4


def share(limit_s, left_s, later_limits_s):
    """Seconds for a section whose limit is `limit_s` when `left_s` are left and sections with those limits are
    still to come; 0 when it is not worth starting."""
    kept = sum(limit / _LEAST for limit in later_limits_s)
    given = min(limit_s, max(left_s - kept, min(limit_s / _LEAST, left_s)))
    return given if given >= WORTH_S else 0
