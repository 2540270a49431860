"""Mutation testing: the share of small random changes of the code that the tests detect.

Run as ``python scripts/mutate.py [AREA ...] [--number 64] [--seed 0] [--jobs 2]``. Each mutation changes one operator,
comparison, constant or sign of one file in a copy of the tree, and runs the tests of the file's area. Mutations listed
in ``mutate_equivalent.py`` are equivalent to the original and are not drawn. Exit code 1 if fewer than 85 % are killed.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Annotated

import numpy as np
import typer

from gpureport.cli.console import print_text
from mutate_equivalent import EQUIVALENT
from mutations import Mutation, mutated, mutations

ROOT = Path(__file__).parents[1]
PACKAGE = Path("analysis", "gpureport")
KILLED = 0.85
"""Required share of mutations that the tests detect."""
AREAS = {
    "predict": ("predict/**/*.py", "test_predict_*.py test_uncertainty.py test_arithmetic.py"),
    "observe": ("observe/*.py", "test_observe_*.py"),
    "explain": ("explain/*.py", "test_predict_explain.py test_predict_hypotheses.py test_unexpected.py"),
    "matching": ("matching.py", "test_findings.py"),
    "findings": ("findings/verdicts.py", "test_findings.py test_unexpected.py"),
    "advice": ("findings/advice.py", "test_advice.py"),
    "evidence": ("findings/evidence.py", "test_evidence.py"),
    "compare": ("compare/*.py", "test_compare.py test_run_variation.py"),
    "rounds": ("measure/rounds.py", "test_measure_sweep.py test_measure_pure.py"),
}
"""Files of each area, and their tests."""
_COPIED = ("analysis", "tests", "scripts")  # folders; the rest is linked


def drawn(areas: Sequence[str], number: int, seed: int) -> list[Mutation]:
    """Draw different mutations at random, equally many of each area if it has enough."""
    rng = np.random.default_rng(seed)
    found: list[Mutation] = []
    for place, area in enumerate(areas):
        files = sorted((ROOT / PACKAGE).glob(AREAS[area][0]))
        names = [file.relative_to(ROOT / PACKAGE).as_posix() for file in files]
        every = [m for name, file in zip(names, files, strict=True) for m in mutations(area, name, file.read_text())]
        every = [m for m in every if (m.file, m.code, m.change) not in EQUIVALENT]
        share = number // len(areas) + (place < number % len(areas))
        found += [every[index] for index in rng.permutation(len(every))[:share]]
    return found


def copied(tree: Path) -> Path:
    """Copy the folders that tests import to the folder *tree*, and link the others."""
    tree.mkdir()
    for entry in ROOT.iterdir():
        if entry.name in _COPIED:
            shutil.copytree(entry, tree / entry.name, ignore=shutil.ignore_patterns("__pycache__"))
        elif not entry.name.startswith("."):
            (tree / entry.name).symlink_to(entry)
    return tree


def passes(tree: Path, area: str, most_s: float | None = None) -> bool:
    """Return whether an area's tests pass in a copy of the tree, within *most_s* seconds."""
    tests = sorted(test for pattern in AREAS[area][1].split() for test in (tree / "tests").glob(pattern))
    options = ["-q", "-x", "-p", "no:cacheprovider", "--hypothesis-seed=0"]
    # Python would reuse the byte code of a changed file with the same size and time stamp.
    environment = {**os.environ, "PYTHONPATH": str(tree / "analysis"), "PYTHONDONTWRITEBYTECODE": "1"}
    line = [sys.executable, "-m", "pytest", *options, *map(str, tests)]
    try:
        done = subprocess.run(line, cwd=tree, env=environment, capture_output=True, timeout=most_s, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def survives(tree: Path, mutation: Mutation, most_s: float) -> bool:
    """Return whether an area's tests pass with a mutation."""
    file = tree / PACKAGE / mutation.file
    source = file.read_text()
    file.write_text(mutated(source, mutation))
    try:
        return passes(tree, mutation.area, most_s)
    finally:
        file.write_text(source)


def main(
    areas: Annotated[list[str] | None, typer.Argument(help=f"{', '.join(AREAS)}. Default: all.")] = None,
    number: Annotated[int, typer.Option(help="Number of mutations.", min=1)] = 64,
    seed: Annotated[int, typer.Option(help="Seed of the random choice.")] = 0,
    jobs: Annotated[int, typer.Option(help="Number of parallel tests.", min=1)] = 2,
) -> None:
    """Print each mutation, whether the tests killed it, and the share of those killed."""
    if unknown := set(areas or ()) - AREAS.keys():
        raise typer.BadParameter(f"unknown areas: {', '.join(sorted(unknown))}; use {', '.join(AREAS)}")
    chosen = areas or list(AREAS)
    found = drawn(chosen, number, seed)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        trees: SimpleQueue[Path] = SimpleQueue()
        for job in range(jobs):
            trees.put(copied(Path(folder) / f"tree{job}"))
        limits = dict(zip(chosen, pool.map(lambda area: _limit_s(trees, area), chosen), strict=True))
        survived = list(pool.map(lambda mutation: _tried(trees, mutation, limits[mutation.area]), found))
    killed = survived.count(False)
    print_text(f"{killed} of {len(found)} mutations killed: {killed / len(found):.0%} (at least {KILLED:.0%})")
    raise typer.Exit(int(killed < KILLED * len(found)))


@contextmanager
def _one_of(trees: "SimpleQueue[Path]") -> Iterator[Path]:
    """Reserve a copy of the tree."""
    tree = trees.get()
    try:
        yield tree
    finally:
        trees.put(tree)


def _limit_s(trees: "SimpleQueue[Path]", area: str) -> float:
    """Return the time limit for the tests of an area: ten seconds plus three times that of the unchanged code."""
    begin = time.monotonic()
    with _one_of(trees) as tree:
        if not passes(tree, area):
            raise typer.BadParameter(f"the tests of {area} fail without a mutation")
    return 10.0 + 3.0 * (time.monotonic() - begin)


def _tried(trees: "SimpleQueue[Path]", mutation: Mutation, most_s: float) -> bool:
    """Test and print a mutation; return whether it survives."""
    with _one_of(trees) as tree:
        survived = survives(tree, mutation, most_s)
    print_text(f"{'SURVIVED' if survived else 'killed  '} {mutation}")
    return survived


if __name__ == "__main__":
    typer.run(main)
