"""What page one says of a device that is not as its entry lists it."""

import re

from gpureport.records.report import Match, Report
from gpureport.report.render import render_html
from gpureport.spec.database import load_database
from gpureport.spec.models import PresentDevice

from .make_report import make_machine, make_report

HOSTILE = "\x1b[31m<b>{{ 7 * 7 }}</b>"


def reported(**changes: object) -> Report:
    """Make a report of the device that the entry found for *changes* of an H200 describes."""
    machine = make_machine()
    present = PresentDevice.model_validate(machine.opencl.model_dump() | changes)
    found = load_database().match(present)
    match = Match(entry=found.entry_id, how=found.how, draft=found.draft, notes=found.notes)
    machine = machine.model_copy(update={"opencl": present})
    return make_report().model_copy(update={"device": found.device, "machine": machine, "match": match})


def page_one(report: Report) -> str:
    """Return the words of page one's head."""
    head = re.search(r'<header class="page-one">.*?</header>', render_html(report), re.DOTALL)
    assert head is not None
    return " ".join(re.sub(r"<[^>]+>", " ", head[0]).split())


def test_a_slice_is_named_and_its_figures_are_its_own() -> None:
    """Heading, figures and the box are of the slice."""
    slice_of = {"name": "NVIDIA H200 MIG 2g.35gb", "compute_units": 32, "global_memory_bytes": 34 << 30}
    said = page_one(reported(**slice_of))

    assert said.startswith("NVIDIA H200 SXM, MIG 2g.35gb")
    assert "32 compute units at 1.98 GHz; L1 256 KiB per compute unit, L2 15 MiB, memory 34 GiB at 1200 GB/s" in said
    assert "△ Differs from the database entry. This is a part of NVIDIA H200 SXM (MIG 2g.35gb)" in said


def test_every_disagreement_is_said() -> None:
    """Units, memory and clock, each with both figures."""
    said = page_one(reported(compute_units=100, global_memory_bytes=96 << 30, clock_hz=1.5e9))

    assert "reports 100 compute units where NVIDIA H200 SXM has 132" in said
    assert "reports 96 GiB of memory where NVIDIA H200 SXM has 141 GiB" in said
    assert "reports a clock of 1.50 GHz where NVIDIA H200 SXM has 1.98 GHz" in said
    assert "100 compute units at 1.50 GHz" in said


def test_a_device_that_is_as_listed_has_no_box() -> None:
    """Nothing is said where nothing disagrees."""
    assert "Not as the database lists it" not in page_one(reported())


def test_what_a_driver_says_stays_text() -> None:
    """Markup of a name is shown, control characters are not."""
    html = render_html(reported(name=HOSTILE, pci_id=None, board=HOSTILE, platform=HOSTILE))

    assert "<b>{{ 7 * 7 }}</b>" not in html
    assert "&lt;b&gt;{{ 7 * 7 }}&lt;/b&gt;" in html
    assert "No entry matches [31m" in html
