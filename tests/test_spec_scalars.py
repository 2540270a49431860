"""A number of an architecture is declared once; everything else follows from the declaration."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from gpureport.spec.models import SCALARS, Architecture

ROOT = Path(__file__).parent.parent
DECLARED = '''
    toy_cycles: Annotated[Cycles, Scalar("cycles", 10, 100)] = 5.0
    """Cycles of a toy; default 5."""
'''
FOLLOWED = """
import json, sys
from gpureport.predict.uncertainty.sensitivity import uncertain
from gpureport.spec.check import check_file
from gpureport.spec.database import load_database
from gpureport.spec.schema import architecture_schema
from gpureport.spec.writing import quantity
from pathlib import Path

path = Path(sys.argv[1])
shipped = load_database().device("nvidia/a40")
device = load_database([path.parent.parent]).device("nvidia/a40")
text = path.read_text()
path.write_text(text.replace("12 cycles", "1000 cycles"))
unlikely = [str(problem) for problem in check_file(path)]
path.write_text(text.replace("12 cycles", "12 ns"))
wrong = [str(problem) for problem in check_file(path)]
print(json.dumps({
    "default": shipped.architecture.toy_cycles,
    "value": device.architecture.toy_cycles,
    "provenance": device.provenance["toy_cycles"].model_dump(),
    "schema": architecture_schema()["properties"]["toy_cycles"],
    "facts": [[fact.path, fact.relative] for fact in uncertain(device)[1] if "toy" in fact.path],
    "written": quantity("toy_cycles", 12.0),
    "unlikely": unlikely,
    "wrong": wrong,
}))
"""


def test_every_scalar_is_a_field_of_the_record() -> None:
    """A number with a default is optional in YAML files, any other is required."""
    assert SCALARS.keys() <= Architecture.model_fields.keys()
    assert not Architecture.model_fields["turnover_cycles"].is_required()
    assert Architecture.model_fields["loaded_latency_factor"].is_required()


def test_a_new_number_needs_one_declaration(tmp_path: Path) -> None:
    """From YAML to device, provenance, JSON Schema, check, written quantity and uncertainty."""
    shutil.copytree(ROOT / "analysis", tmp_path / "analysis", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "devices").symlink_to(ROOT / "devices")
    models = tmp_path / "analysis" / "gpureport" / "spec" / "models.py"
    text, after = models.read_text(), "    write_allocate: bool\n"
    assert text.count(after) == 1
    models.write_text(text.replace(after, DECLARED + after))
    path = tmp_path / "own" / "architectures" / "ampere_86.yaml"
    path.parent.mkdir(parents=True)
    shipped = (ROOT / "devices" / "architectures" / "ampere_86.yaml").read_text()
    path.write_text(f'{shipped}toy_cycles: {{value: 12 cycles, kind: assumed, note: "a toy"}}\n')
    line = shipped.count("\n") + 1

    environment = os.environ | {"PYTHONPATH": str(tmp_path / "analysis")}
    done = subprocess.run(
        [sys.executable, "-c", FOLLOWED, path],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)

    assert (found["default"], found["value"]) == (5.0, 12.0)
    assert (found["provenance"]["kind"], found["provenance"]["note"]) == ("assumed", "a toy")
    assert found["schema"]["description"] == "Cycles of a toy; default 5."
    assert found["facts"] == [["toy_cycles", 0.3]]
    assert found["written"] == "12 cycles"
    (unlikely,), (wrong,) = found["unlikely"], found["wrong"]
    assert unlikely.startswith(f"{path}:{line}: warning: toy_cycles: 1000 cycles is implausible; usual are 10 to 100")
    assert wrong.startswith(f"{path}:{line}: toy_cycles.value: ")
    assert "cycles" in wrong
