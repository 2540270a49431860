"""Words of other rooms, made fit to be read."""

import re

_PLAIN_WORD = re.compile(r"[a-z]+(?=[ ,:;]|$)")


def sentence(text: str) -> str:
    """Give *text* a capital, unless it begins with a name such as ``read.cl``, and a full stop."""
    text = " ".join(text.split())
    if _PLAIN_WORD.match(text):
        text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?", "…")) or not text else f"{text}."
