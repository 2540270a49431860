"""``gpureport schema`` and ``gpureport glossary``."""

from textwrap import wrap

from gpureport.cli.app import GlossaryOptions, SchemaOptions
from gpureport.cli.console import out, print_json, print_lines
from gpureport.errors import InputError
from gpureport.glossary import find_term, terms
from gpureport.text import quoted, suggestion


def print_schema(options: SchemaOptions) -> int:
    """Print the JSON Schema of a kind of file."""
    from gpureport.kernel_files.description import kernel_schema
    from gpureport.records.report import report_schema
    from gpureport.spec.files import ArchitectureFile, DeviceFile, file_schema

    made = {
        "device": lambda: file_schema(DeviceFile),
        "architecture": lambda: file_schema(ArchitectureFile),
        "kernel": kernel_schema,
        "report": report_schema,
    }
    print_json(made[options.name]())
    return 0


def print_glossary(options: GlossaryOptions) -> int:
    """Print the entry of one term, or all entries; an InputError if the glossary does not contain the term."""
    found = find_term(options.term) if options.term is not None else None
    if options.term is not None and found is None:
        near = suggestion(options.term, (name for term in terms() for name in term.names))
        hint = near or "; 'gpureport glossary' lists all"
        raise InputError(f"the glossary does not contain {quoted(options.term)}{hint}")
    for term in [found] if found else terms():
        print_lines(*wrap(f"{term}: {term.definition}", out().width, subsequent_indent="  "))
    return 0
