"""The package: each part imports only from those before it, and fields have docstrings."""

import ast
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel

import gpureport
from gpureport.docstrings import Documented, field_docs
from gpureport.spec.values import Leaf

PACKAGE = Path(gpureport.__file__).parent
ORDER = (
    *("system", "errors", "text", "grouping", "docstrings", "data", "units", "files", "inputs", "isolation"),
    *("records", "glossary", "spec", "records.report", "workloads", "predict.expressions"),
    *("predict.propagation", "predict.occupancy", "predict.traffic", "predict.accesses"),
    *("trace", "kernel_files", "machine_code"),
    *("observe", "matching", "predict", "explain", "findings"),
    *("measure.backends", "measure", "run"),
    *("compare", "report.processes", "report.curves", "report.figures", "report.text", "report"),
    *("results", "fleet", "validate", "notebook", "cli"),
)
"""Packages and modules, from the first to the last. The report contains devices, which contain records."""

MODULES = sorted(path.relative_to(PACKAGE) for path in (*PACKAGE.glob("[a-z]*.py"), *PACKAGE.glob("*/**/*.py")))


def place(name: str) -> str:
    """Return the part of :data:`ORDER` that a module of the package belongs to, by its dotted name within it."""
    return max((part for part in ORDER if f"{name}.".startswith(f"{part}.")), key=len, default="")


def imported(path: Path) -> Iterator[str]:
    """Yield the modules of the package that a file imports when it runs, by their dotted names within it."""
    pending: list[ast.AST] = [ast.parse((PACKAGE / path).read_text())]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        pending += ast.iter_child_nodes(node)
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "gpureport":
            for name in node.names:
                yield f"{node.module}.{name.name}".removeprefix("gpureport.")


def test_every_module_is_in_the_order() -> None:
    inside = {Path(path.parts[0]).stem for path in MODULES}

    assert inside == {part.split(".")[0] for part in ORDER}


def test_a_module_imports_only_what_comes_before_it() -> None:
    for path in MODULES:
        here = ORDER.index(place(".".join(path.with_suffix("").parts)))
        later = [name for name in imported(path) if place(name) and ORDER.index(place(name)) > here]
        assert later == [], path


def test_one_module_imports_pyopencl() -> None:
    naming = [path for path in MODULES if "import pyopencl" in (PACKAGE / path).read_text()]

    assert naming == [Path("measure/backends/opencl.py")]


class _Base(BaseModel):
    """A base."""

    size: int
    """How large."""
    plain: str = ""


class _Model(_Base):
    """What is made of it."""

    count: int = 0
    """How many,
    in all.
    """


def test_fields_have_their_docstrings_also_in_schemas() -> None:
    """Those of a base first; a class's own docstring belongs to no field; generic models have those of their origin."""
    properties = _Model.model_json_schema(schema_generator=Documented)["properties"]

    assert field_docs(_Model) == {"size": "How large.", "count": "How many,\nin all."}
    assert properties["size"]["description"] == "How large."
    assert "description" not in properties["plain"]
    assert field_docs(Leaf[int])["source"] == "A key of the file's `sources`."
