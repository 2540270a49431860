"""The long description of packages: README with links that also work outside the repository."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(!?)\[([^]]+)\]\((?!https://)([^)]+)\)")


class Readme(MetadataHookInterface):
    """Makes links to files absolute if ``[project.urls]`` has a ``Repository``, else shows their paths."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the long description."""
        address = metadata.get("urls", {}).get("Repository", "")

        def link(found: re.Match[str]) -> str:
            picture, words, path = found.groups()
            if not address:
                return "" if picture else words if words == path else f"{words} (`{path}`)"
            return f"{picture}[{words}]({address}/{'raw' if picture else 'blob'}/HEAD/{path})"

        text = _LINK.sub(link, Path(self.root, "README.md").read_text(encoding="utf-8"))
        text = text.replace("ADDRESS", address or "ADDRESS")
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
