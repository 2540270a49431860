"""Nothing is larger than the table of sizes in CONTRIBUTING.md allows."""

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "analysis" / "gpureport"
BUDGET = {
    name: int(number.replace(",", ""))
    for name, number in re.findall(
        r"^\| `?([\w./ ]+?)`? \| ([\d,]+) \|$",
        (ROOT / "CONTRIBUTING.md").read_text().partition("\n## Sizes\n")[2].partition("\n## ")[0],
        re.MULTILINE,
    )
}


def lines() -> Counter[str]:
    found = Counter[str]()
    for file in SOURCES.rglob("*.py"):
        inside = file.relative_to(SOURCES).parts
        found[f"{inside[0]}/" if len(inside) > 1 else "modules"] += len(file.read_text().splitlines())
    for name, files in {
        "tests/": (ROOT / "tests").glob("*.py"),
        "scripts/": (ROOT / "scripts").iterdir(),
        "README.md": [ROOT / "README.md"],
        "docs/": (ROOT / "docs").iterdir(),
        "CONTRIBUTING.md": [ROOT / "CONTRIBUTING.md"],
    }.items():
        found[name] = sum(len(file.read_text().splitlines()) for file in files if file.is_file())
    return found


@pytest.mark.parametrize(("name", "count"), sorted(lines().items()))
def test_no_package_or_document_is_larger_than_its_budget(name: str, count: int) -> None:
    assert name in BUDGET, f"CONTRIBUTING.md, Sizes: add `{name}` with its {count} lines"
    assert count <= BUDGET[name], f"{name} has {count} lines; CONTRIBUTING.md allows {BUDGET[name]}"


def test_the_table_contains_nothing_else() -> None:
    assert BUDGET.keys() == {*lines(), "all tracked files in KiB"}


def test_the_repository_is_light() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("this is no git checkout")
    files = [ROOT / name for name in listed.stdout.split("\0") if name]
    total = sum(file.lstat().st_size for file in files if file.exists() or file.is_symlink())
    allowed = BUDGET["all tracked files in KiB"]
    assert total >> 10 <= allowed, f"{total >> 10} KiB are tracked; CONTRIBUTING.md allows {allowed}"
