"""Runs on the nodes of a site: its file, ReFrame's local scheduler, the devices of a node."""

import os
import shlex
import signal
import subprocess
import sys
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from time import sleep
from types import SimpleNamespace

import pytest

from gpureport.cli import main
from gpureport.errors import GpuReportError, InputError
from gpureport.fleet import runs
from gpureport.fleet.cluster_file import TEMPLATE, Cluster, NodeSettings, partition_name, read_cluster
from gpureport.fleet.runs import NodeRun
from gpureport.inputs import json_bytes
from gpureport.records.report import FILE_NAME, load_report, report_file

REPORT = report_file(Path(__file__).parents[1] / "reports/pocl-xeon-16-cores-quick")
NODE = """#!/bin/sh
# Stands for gpureport on a node: "fleet node --output FOLDER", with a recorded report.
mkdir -p "$4/0-device"
case $NODE_STATE in
slow) sleep 60 ;;
quoted) [ "$NODE_TEXT$6" = 'two  $words; exit 1a device' ] || exit 1 ;;
failed) echo "not measured: a device: exit code 1: the driver hangs"; exit 1 ;;
killed) kill -9 $$ ;;
esac
cp {report} "$4/0-device/report.json"
echo "1 of 1: all devices of this node were measured"
"""

needs_reframe = pytest.mark.skipif(find_spec("reframe") is None, reason="ReFrame is not installed")


def write_site(folder: Path, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "fleet.yaml").write_text(text)
    return folder


def node_command(folder: Path) -> Path:
    (folder / "recorded").write_bytes(json_bytes(REPORT))
    command = folder / "node"
    command.write_text(NODE.replace("{report}", str(folder / "recorded")))
    command.chmod(0o755)
    return command


def real(link: Path) -> Path | None:
    """Return where a link points to; ``None`` for processes that have ended."""
    with suppress(OSError):
        return link.readlink()
    return None


def gpureport(*arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "gpureport", *map(str, arguments)]
    environment = {**os.environ, **variables, "PYTHONWARNINGS": "ignore"}
    return subprocess.run(line, capture_output=True, text=True, timeout=300, env=environment, check=False)


@needs_reframe
def test_the_template_is_a_site(tmp_path: Path) -> None:
    site = read_cluster(write_site(tmp_path / "site", TEMPLATE.read_text()))
    assert list(site.named()) == ["this-node"]
    fields = {line.lstrip("# ").partition(":")[0] for line in TEMPLATE.read_text().splitlines() if ":" in line}
    assert set(Cluster.model_fields) <= fields


@needs_reframe
def test_sets_of_names_are_expanded() -> None:
    site = Cluster(
        scheduler="slurm",
        nodes=dict.fromkeys(["gpu[08-10]", "login.example.org"], NodeSettings()),
        options=("--partition=gpu",),
    )
    named = site.named()
    assert list(named) == ["gpu08", "gpu09", "gpu10", "login.example.org"]
    assert site.access("gpu08", named["gpu08"]) == ["--partition=gpu", "--nodelist=gpu08"]
    names = {partition_name(node, number) for number, node in enumerate(["a.b", "a_b", "7", "a-b"])}
    assert len(names) == 4


@needs_reframe
def test_a_node_gets_the_text_that_the_site_has() -> None:
    text = "NVIDIA H100 PCIe; echo $HOME"
    nodes = {"a": NodeSettings(environment={"NAME": text})}
    site = Cluster(scheduler="local", nodes=nodes, devices=(text,), workloads=("memory",))
    assert shlex.split(" ".join(site.arguments("x")))[-5:] == ["--device", text, "--quick", "--workload", "memory"]
    ((name, value),) = site.named()["a"].variables
    assert (name, shlex.split(value)) == ("NAME", [text])


@needs_reframe
def test_jobs_over_ssh_end() -> None:
    site = Cluster(scheduler="ssh", nodes={"a": NodeSettings()}, options=("-oConnectTimeout=3",), time_limit_minutes=7)
    (name, settings), *_ = site.named().items()
    timeouts = [option for option in site.access(name, settings) if "ConnectTimeout" in option]
    assert timeouts[0] == "-oConnectTimeout=3"
    assert site.executable.startswith("timeout ")
    assert " 7m " in site.executable
    assert Cluster(scheduler="slurm", nodes={"a": NodeSettings()}).executable == "gpureport"


@needs_reframe
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("scheduler: slurn\nnodes: [a]\n", "fleet.yaml:1: scheduler"),
        ("scheduler: local\nnodes: [a]\nquick: 2x\n", "fleet.yaml:3: quick"),
        ("scheduler: local\nnodes: ['gpu[1-']\n", "fleet.yaml:2: nodes: 'gpu[1-' is no set of names"),
        ("scheduler: local\nnodes: [a, a]\n", "appears twice"),
        ("scheduler: local\nnodes: []\n", "no names"),
        ("scheduler: local\nnode: [a]\n", "fleet.yaml:2: node"),
        ("scheduler: local\nnodes: [a, ../../x]\n", "fleet.yaml:2: nodes: '../../x'"),
        ("scheduler: local\nnodes: {-rf: {}}\n", "fleet.yaml:2: nodes: '-rf'"),
        ("scheduler: slurm\nnodes: [a]\nnode_option: '-w {host}'\n", "fleet.yaml:3: node_option"),
        ("scheduler: slurm\nnodes: [a]\nnode_option: -w a\n", "fleet.yaml:3: node_option"),
        ("scheduler: slurm\nnodes: [a]\nnode_option: '-w {node.real}'\n", "fleet.yaml:3: node_option"),
        ("scheduler: local\nnodes: {a: {environment: {'A=1;B': x}}}\n", "fleet.yaml:2: nodes.a.environment"),
        ("scheduler: local\nnodes:\n  a: {enviroment: {}}\n", "fleet.yaml:3: nodes.a.enviroment: unknown field"),
        ("scheduler: local\nnodes:\n  a: {}\n  b: {options: x}\n", "fleet.yaml:4: nodes.b.options: must be a list"),
        ("scheduler: local\nnodes: [{a: b}]\n", "fleet.yaml:2: nodes: must be a list of names"),
        ("scheduler: local\nnodes: [a]\nworkloads: [nope]\n", "fleet.yaml:3: workloads: no workload is called 'nope'"),
    ],
)
def test_a_wrong_site_is_one_sentence(text: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_cluster(write_site(tmp_path / "site", text))
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
@needs_reframe
def test_nodes_are_measured_and_failures_named(tmp_path: Path) -> None:
    command = node_command(tmp_path)
    states = {"good": "quoted", "bad": "failed", "gone": "killed"}
    nodes = "".join(
        f"  {name}: {{environment: {{NODE_STATE: '{state}', NODE_TEXT: 'two  $words; exit 1'}}}}\n"
        for name, state in states.items()
    )
    settings = f"scheduler: local\ncommand: {command}\nretries: 1\ndevices: [a device]\n"
    site = write_site(tmp_path / "site", f"{settings}nodes:\n{nodes}")
    done = gpureport("fleet", "run", site, "--store", tmp_path / "store", "-o", tmp_path / "runs")
    assert done.returncode == 1, done.stderr
    rows = {line.split()[0]: line for line in done.stdout.splitlines() if line and line.split()[0] in states}
    assert "measured" in rows["good"]
    assert "the driver hangs" in rows["bad"]
    assert "failed" in rows["gone"]
    assert "2 of 3 nodes failed" in done.stdout
    assert (tmp_path / "runs/good/0-device" / FILE_NAME).read_bytes() == json_bytes(REPORT)
    listed = gpureport("fleet", "list", "--store", tmp_path / "store")
    assert "good" in listed.stdout
    assert "bad" not in listed.stdout
    unknown = gpureport("fleet", "run", site, "--node", "other")
    assert unknown.returncode == 2
    assert "has no node 'other'" in unknown.stderr


@pytest.mark.slow
@needs_reframe
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_local_jobs(number: signal.Signals, tmp_path: Path) -> None:
    command = node_command(tmp_path)
    nodes = "{fast: {}, slow: {environment: {NODE_STATE: slow}}}"
    site = write_site(tmp_path / "site", f"scheduler: local\ncommand: {command}\nnodes: {nodes}\n")
    line = [sys.executable, "-m", "gpureport", "fleet", "run", str(site), "-o", str(tmp_path / "runs")]
    stages = tmp_path / "runs/reframe/stage/fleet"
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        for _ in range(600):
            sleep(0.1)
            logs = [file.read_text() for file in stages.glob("fast/default/Devices/*.out")]
            if list(stages.glob("slow/default/Devices/measured/*")) and any("all devices" in log for log in logs):
                break
        run.send_signal(number)
        _, errors = run.communicate(timeout=60)
    assert run.returncode == 130, errors
    assert "all jobs were ended" in errors
    assert (tmp_path / "runs/fast/0-device" / FILE_NAME).exists()
    assert not [file for file in Path("/proc").glob("[0-9]*/cwd") if str(tmp_path) in str(real(file))]


@needs_reframe
def test_failures_are_named_if_all_reports_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = tmp_path / "runs/good/0-device" / FILE_NAME
    wrong.parent.mkdir(parents=True)
    wrong.write_text("{")
    came = [NodeRun("good", "", tmp_path / "runs/good", 1, 1), NodeRun("bad", "it hangs", tmp_path / "runs/bad", 0, 2)]
    monkeypatch.setattr(import_module("gpureport.fleet.runs"), "run_nodes", lambda *_: came)
    site = write_site(tmp_path / "site", "scheduler: local\nnodes: [good, bad]\n")
    assert main(["fleet", "run", str(site), "--store", str(tmp_path / "store")]) == 1
    printed = capsys.readouterr()
    assert str(wrong) in printed.err
    assert "--node bad" in printed.out


@needs_reframe
@pytest.mark.parametrize("columns", ["80", "120"])
def test_reasons_of_failures_are_always_shown(
    columns: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reason = f"the file system of /{'long/' * 30}path is full; free 2 GB, then measure the node again"
    monkeypatch.setattr(
        import_module("gpureport.fleet.runs"), "run_nodes", lambda *_: [NodeRun("bad", reason, tmp_path, 0, 2)]
    )
    monkeypatch.setenv("COLUMNS", columns)
    site = write_site(tmp_path / "site", "scheduler: local\nnodes: [bad]\n")
    assert main(["fleet", "run", str(site)]) == 1
    words = "".join(capsys.readouterr().out.split())
    assert "measurethenodeagain" in words
    assert "long/" * 30 in words


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, "the node is unresponsive, down or busy: its job still waited after the limit of 2 min"),
        ({"job_nodelist": ["n1"]}, "half of it"),
        ({"job_completion_time_unix": 1119.0}, "half of it"),
        ({"job_completion_time_unix": None}, "half of it"),
        ({"scheduler": "local"}, "half of it"),
        (
            {"scheduler": "local", "job_stdout": "none"},
            "the job ended without output; the node may be unresponsive or down",
        ),
    ],
)
def test_a_node_that_stopped_answering_is_named(changes: dict[str, object], reason: str, tmp_path: Path) -> None:
    """Slurm queues its job again, and ReFrame cancels it without a reason; output is that of the first start."""
    (tmp_path / "out").write_text("half of it\n")
    case = {
        "partition": "n1",
        "result": "fail",
        "fail_phase": "sanity",
        "scheduler": "squeue",
        "stagedir": str(tmp_path),
        "job_stdout": "out",
        "job_stderr": "none",
        "job_nodelist": [],
        "job_submit_time": 1000.0,
        "job_completion_time_unix": 1120.0,
    }
    (run,) = runs._collected({"runs": [{"testcases": [case | changes]}]}, ["n1"], tmp_path, 2)

    assert run.reason == reason


@needs_reframe
def test_a_full_disk_is_named_and_reports_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def without_results(_: object, folder: Path, __: object) -> int:
        measured = folder / "reframe/stage/fleet/a/default/Devices/measured/0-device"
        measured.mkdir(parents=True)
        (measured / FILE_NAME).touch()
        return 1

    runs = import_module("gpureport.fleet.runs")
    monkeypatch.setattr(runs, "_reframe", without_results)
    monkeypatch.setattr(runs, "disk_usage", lambda _: SimpleNamespace(free=0))
    site = write_site(tmp_path / "site", "scheduler: local\nnodes: [a]\n")
    with pytest.raises(GpuReportError, match="disk is full"):
        runs.run_nodes(read_cluster(site), site / "fleet.yaml", ["a"], tmp_path / "runs")
    assert (tmp_path / "runs/a/0-device" / FILE_NAME).exists()


@pytest.mark.slow
@needs_reframe
def test_a_local_node_measures_its_device(tmp_path: Path) -> None:
    command = f"{sys.executable} -m gpureport"
    text = f"scheduler: local\nnodes: [here]\ncommand: {command}\nworkloads: [launch]\nretries: 0\n"
    done = gpureport("fleet", "run", write_site(tmp_path / "site", text), "-o", tmp_path / "runs")
    assert done.returncode == 0, done.stdout + done.stderr
    (report,) = (tmp_path / "runs/here").glob(f"*/{FILE_NAME}")
    assert {measurement.key.family for measurement in load_report(report).measurements} >= {"launch"}
    again = gpureport("fleet", "node", "-o", tmp_path / "runs/here")
    assert "all devices of this node were measured" in again.stdout
