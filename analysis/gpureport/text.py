"""Words of other rooms, made fit to be read."""

import re
from math import exp

_LARGE = 2.0
_PLAIN_WORD = re.compile(r"[a-z]+(?=[ ,:;]|$)")


def sentence(text: str) -> str:
    """Give *text* a capital, unless it begins with a name such as ``read.cl``, and a full stop."""
    text = " ".join(text.split())
    if _PLAIN_WORD.match(text):
        text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?", "…")) or not text else f"{text}."


def off_by(error: float) -> str:
    """Write the error of a curve, a root mean square of |ln ratio|: ``12 %``, or ``a factor of 2.3`` where it is large.

    Args:
        error: 0 or more.
    """
    factor = exp(error)
    return f"{(factor - 1) * 100:.0f} %" if factor < _LARGE else f"a factor of {factor:.1f}"
