"""The body of a kernel as text: its loops, its conditions, and the comparisons of its indices."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gpureport.inputs import read_text
from gpureport.trace.compiler import preprocessed

_GLOBAL_ID = r"\bget_global_id\s*\(\s*([012])\s*\)"


@dataclass(frozen=True)
class Body:
    """What a kernel's code up to the next one contains, without comments."""

    text: str

    @property
    def dimensions(self) -> int:
        """Largest dimension of ``get_global_id``, plus one."""
        return 1 + max(map(int, re.findall(_GLOBAL_ID, self.text)), default=0)

    def bounds(self, name: str) -> bool:
        """Whether a value may limit work-items, loops or indices: it is compared, assigned, or within an index."""
        return re.search(rf"(?<![-+*/])[<>=]\s*{name}\b|\[[^\]]*\b{name}\b", self.text) is not None

    @property
    def guards(self) -> Iterator[tuple[int, str]]:
        """The dimensions whose index is compared with a name, and the name."""
        for match in re.finditer(rf"(?:\b(\w+)\s*=\s*(?:\(\w+\)\s*)?)?{_GLOBAL_ID}", self.text):
            same = _GLOBAL_ID.replace("([012])", match[2])
            index = rf"(?:\b{match[1]}\b|{same})" if match[1] else same
            compared = rf"{index}\s*(?:<|>=)\s*\(?\s*(\w+)|\b(\w+)\s*\)?\s*(?:>|<=)\s*{index}"
            for other in re.finditer(compared, self.text):
                yield int(match[2]), other[1] or other[2]


def body_of(path: Path, options: str, kernel: str) -> Body:
    """Return the body of a *kernel* of a file with these build options; all code if the file does not declare it."""
    code = preprocessed(read_text(path), path.parent, options)
    declared = re.search(rf"\b(?:__)?kernel\b[^;{{}}]*?\b{re.escape(kernel)}\s*\([^;{{}}]*\{{", code)
    return Body(re.split(r"\b(?:__)?kernel\b", code[declared.end() :])[0] if declared else code)
