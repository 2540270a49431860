"""Formatting of messages for readers."""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

N90 = "n90: fewest work-items with 90 % of the smoothed peak"
"""The definition that tables and figures repeat."""

_MOST, _FIRST = 6, 4  # the most names in a list; the number of first ones if there are more
_FEW_KNOWN = 12
_PLAIN_WORD = re.compile(r"[a-z]+(?=[ ,:;]|$)")
_PYTHON_TYPES = {
    "a valid tuple": "a list, like [this, that]",
    "a valid list": "a list, like [this, that]",
    "a valid dictionary": "a mapping of names to values",
    "a valid string": "text",
    "a valid integer": "a whole number",
    "a valid number": "a number",
    "a valid boolean": "true or false",
}
"""Plain words for pydantic's types."""
_OF_FIELDS = {"Field required": "is missing", "Extra inputs are not permitted": "unknown field"}


def sentence(text: str) -> str:
    """Return *text* with a capital, unless it begins with a name such as ``read.cl``, and a full stop."""
    text = " ".join(text.split())
    if _PLAIN_WORD.match(text):
        text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?", "…")) or not text else f"{text}."


def requirement(message: str) -> str:
    """Return pydantic's *message* in plain words: ``must be a whole number``."""
    message = _OF_FIELDS.get(message, message)
    message = re.sub(r"^(Value error|Assertion failed), | after validation\b.*", "", message)
    message = re.sub(r"greater than or equal to 0\.0{20,}\d+", "above zero", message)
    message = re.sub(r"\d{25,}(\.0)?", lambda number: f"{float(number[0]):g}", message)
    expected = re.match(r"(?:Input|\w+) should (.*)", message)
    if expected is None:
        return message[:1].lower() + message[1:]
    kind = expected[1].removeprefix("be ")
    plain = next((name for python, name in _PYTHON_TYPES.items() if kind.startswith(python)), None)
    return f"must be {plain}" if plain else f"must {expected[1]}"


def counted(number: int, noun: str) -> str:
    """Write a number of things: ``1 run``, ``2 runs``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def listed(names: Sequence[str], word: str = "and") -> str:
    """Write names as a list: ``a``, ``a and b``, ``a, b and c``."""
    return f" {word} ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)


def shortlist(names: Sequence[str]) -> list[str]:
    """Return up to six names as they are; of more, the first four and the number of the others."""
    return list(names) if len(names) <= _MOST else [*names[:_FIRST], f"{len(names) - _FIRST} more"]


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the most similar of the *known* names, ignoring case."""
    lowered = {candidate.lower(): candidate for candidate in known}
    return next((lowered[near] for near in get_close_matches(name.lower(), lowered, n=1, cutoff=0.6)), None)


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return the end of a sentence: the most similar of the *known* names, else all if they are few, else nothing."""
    names = sorted(known)
    if near := nearest(name, names):
        return f"; did you mean {near!r}?"
    return f"; there are {', '.join(map(repr, names))}" if 0 < len(names) <= _FEW_KNOWN else ""


def quoted(text: str) -> str:
    """Quote user input, cut to 60 characters."""
    return repr(shortened(text))


def shortened(text: str, most: int = 60) -> str:
    """Cut *text* to *most* characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def printable(text: str) -> str:
    """Return *text* with blanks for unprintable characters; no-break spaces stay."""
    return text if text.isprintable() else "".join(c if c.isprintable() or c == "\xa0" else " " for c in text)


def shorten(text: str, most: int = 200) -> str:
    """Return a foreign text without control characters and repeated blanks, cut to *most* characters."""
    return shortened(" ".join(printable(text).split()), most)
