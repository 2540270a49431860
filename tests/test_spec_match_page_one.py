"""Page one for a device that differs from its entry."""

import re

from gpureport.records.report import EntryMatch, Report
from gpureport.report.render import render_html
from gpureport.spec.database import load_database
from gpureport.spec.models import PresentDevice

from .make_report import make_machine, make_report

HOSTILE = "\x1b[31m<b>{{ 7 * 7 }}</b>"


def reported(**changes: object) -> Report:
    """Make a report of an H200 with *changes*, matched to its entry."""
    machine = make_machine()
    present = PresentDevice.model_validate(machine.opencl.model_dump() | changes)
    found = load_database().match(present)
    match = EntryMatch(entry=found.entry_id, how=found.how, draft=found.draft, notes=found.notes)
    machine = machine.model_copy(update={"opencl": present})
    return make_report().model_copy(update={"device": found.device, "machine": machine, "match": match})


def page_one(report: Report) -> str:
    """Return the words of page one's head."""
    head = re.search(r'<header class="page-one">.*?</header>', render_html(report), re.DOTALL)
    assert head is not None
    return " ".join(re.sub(r"<[^>]+>", " ", head[0]).split())


def test_a_slice_has_its_own_name_and_values() -> None:
    """Heading, values and the box describe the slice."""
    slice_of = {"name": "NVIDIA H200 MIG 2g.35gb", "compute_units": 32, "global_memory_bytes": 34 << 30}
    text = page_one(reported(**slice_of))

    assert text.startswith("NVIDIA H200 SXM, MIG 2g.35gb")
    assert "32 compute units at 1.98 GHz; L1 256 KiB per compute unit, L2 15 MiB, memory 34 GiB at 1200 GB/s" in text
    assert "△ Differs from the database entry. This is a part of NVIDIA H200 SXM (MIG 2g.35gb)" in text


def test_every_difference_is_reported() -> None:
    """Units, memory and clock, each with both figures."""
    text = page_one(reported(compute_units=100, global_memory_bytes=96 << 30, clock_hz=1.5e9))

    assert "reports 100 compute units; NVIDIA H200 SXM has 132" in text
    assert "reports 96 GiB of memory; NVIDIA H200 SXM has 141 GiB" in text
    assert "reports a clock of 1.50 GHz; NVIDIA H200 SXM has 1.98 GHz" in text
    assert "100 compute units at 1.50 GHz" in text


def test_a_device_that_is_as_listed_has_no_box() -> None:
    """No note without a difference."""
    assert "Not as the database lists it" not in page_one(reported())


def test_names_from_drivers_are_escaped() -> None:
    """Markup of a name is shown, control characters are not."""
    html = render_html(reported(name=HOSTILE, pci_id=None, board=HOSTILE, platform=HOSTILE))

    assert "<b>{{ 7 * 7 }}</b>" not in html
    assert "&lt;b&gt;{{ 7 * 7 }}&lt;/b&gt;" in html
    assert "No entry matches [31m" in html
