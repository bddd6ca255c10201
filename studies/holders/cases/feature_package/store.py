"""Keeps features by step."""
_features = {}


def remember(step, tensor):
    _features[step] = (tensor, False)


def recall(step):
    return _features[step][0]


def forget(step):
    del _features[step]
