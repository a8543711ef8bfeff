"""`tilespec explain`."""

from __future__ import annotations

import difflib
from typing import Annotated

import typer

__all__ = ["explain"]


def explain(
    code: Annotated[str | None, typer.Argument(help="A code such as TS301, or a rule's name.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say what a finding means, with an example.

    Without CODE, list all codes.
    """
    import json

    from tilespec.cli.explain_text import explanation, page
    from tilespec.rules.codes import CODES

    if code is None:
        if as_json:
            rows = [
                {"code": key, "name": rule.name, "severity": rule.severity.value}
                for key, rule in CODES.items()
            ]
            typer.echo(json.dumps(rows, indent=2))
        else:
            for key, rule in CODES.items():
                typer.echo(f"{key}  {rule.name:<36} {explanation(rule)[0]}")
        return
    names = {rule.name: key for key, rule in CODES.items()}
    key = names.get(code.lower(), code.upper())
    if key not in CODES:
        close = difflib.get_close_matches(key, CODES, n=1) or difflib.get_close_matches(
            code.lower(), names, n=1
        )
        hint = f", did you mean `{close[0]}`?" if close else ""
        message = f"`{code}` is not a code{hint}"
        raise typer.BadParameter(message)
    rule = CODES[key]
    if as_json:
        title, text = explanation(rule)
        document = {
            "code": key,
            "name": rule.name,
            "severity": rule.severity.value,
            "since": rule.since,
            "title": title,
            "text": text,
        }
        typer.echo(json.dumps(document, indent=2))
    else:
        typer.echo(page(rule), nl=False)
