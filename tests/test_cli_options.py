"""Options: their positions, names, help and version of every command."""

import pytest

from gpureport import __version__
from gpureport.cli import main

Captured = pytest.CaptureFixture[str]
NAMES = (
    "",
    "measure",
    "render",
    "predict",
    "compare",
    "validate",
    "glossary",
    "devices",
    "devices check",
    "devices new",
)
COMMANDS = tuple(name.split() for name in NAMES)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_every_command_has_help_with_examples(
    command: list[str], option: str, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main([*command, option]) == 0
    out = capsys.readouterr().out
    assert out.startswith(" ".join(["Usage: gpureport", *command]))
    examples = out.partition("Examples:\n")[2].splitlines()
    assert examples
    assert all(line.strip().startswith(" ".join(["gpureport", *command])) for line in examples)
    assert max(map(len, out.splitlines())) <= 80
    assert not any(python in out for python in ("Path", "<str>", "list["))


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_has_a_version(command: list[str], capsys: Captured) -> None:
    assert main([*command, "--version"]) == 0
    assert capsys.readouterr().out == f"gpureport {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "early"),
    [
        (["--quick", "devices"], "--quick"),
        (["--seed", "0", "-o", "x", "measure"], "--output, --seed"),
        (["devices", "--known", "check"], "--known"),
    ],
    ids=" ".join,
)
def test_options_before_a_subcommand_are_refused(arguments: list[str], early: str, capsys: Captured) -> None:
    assert main(arguments) == 2
    command = " ".join(["gpureport", *(a for a in arguments if a in ("devices", "measure", "check"))])
    assert capsys.readouterr().err == (
        f"gpureport: {early}: has no effect before {arguments[-1]!r}; "
        f"write options after the command ({command} --help lists its options)\n"
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-w", ","], "--workload: no name given; write one, such as 'memory' or 'memory/read', or omit it for all"),
        (["-w", "memory,[red]<script>"], "no workload is called '[red]<script>'; there are: atomics, "),
        (["predict", "h200", "--paper", "a4"], "--paper: has no effect without --pdf; add --pdf, or omit --paper"),
        (["compare", "h200", "a40", "--no-pdf"], "--no-pdf: has no effect without --output; add --output, or omit"),
        (["fleet", "report", "--paper", "a4"], "--paper: has no effect without --output"),
        (["render", "x", "--paper", "a4", "--no-pdf"], "--paper: has no effect with --no-pdf; omit one of them"),
        (["mesure"], "No such command 'mesure'. Did you mean 'measure'?"),
        (["--xyz"], "No such option: --xyz"),
        (["predict"], "the argument DEVICE is missing; add it, or give --lscpu FILE (--help shows examples)"),
        (
            ["schema"],
            "Missing argument 'NAME'. Choose from: device, architecture, kernel, ",
        ),
        (["predict", "h200", "--size", "n=4"], "--size: describes a kernel; add --kernel FILE, or omit --size"),
        (["--seed", "-1"], "--seed: must be greater than or equal to 0"),
        (["--seed", "many"], "--seed: must be a whole number"),
        (["-o", ""], "-o: the path is empty"),
        (["render", ""], "REPORT: the path is empty"),
        (["validate", "--json="], "--json: the path is empty"),
        (["devices", "--known", "40"], "No such command '40' (see gpureport devices --help)"),
        (["fleet"], "Missing command (see gpureport fleet --help)"),
        (["glossary", "a", "b"], "too many arguments: b"),
        (["render", "\x1b[31m"], ": [31m: no such file"),
        (["compare", "a=h200", "a=a40"], "'a' is the name of two machines; choose another name"),
        (["compare", f"{'x' * 101}=h200", "a40"], "has 101 characters; a name may have 100"),
    ],
)
def test_mistyped_commands_start_nothing(arguments: list[str], words: str, capsys: Captured) -> None:
    """One sentence and exit code 2; an unset variable of the shell does not start a run in this folder."""
    assert main(arguments) == 2
    out, error = capsys.readouterr()
    assert out == ""
    sentence = error.splitlines()[-1]  # a note on the runtime may come before
    assert sentence.startswith("gpureport: ")
    assert words in sentence
    assert len(sentence) < 300
