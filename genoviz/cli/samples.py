"""``genoviz samples``: sample files by name."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from genoviz.cli.common_options import JsonOption, examples
from genoviz.cli.progress import quantity, show_progress
from genoviz.cli.results import print_results

EXAMPLES = examples(
    "genoviz samples",
    "genoviz samples get drb1",
    "genoviz layout $(genoviz samples get drb1) -o drb1.lay",
)


def register(cli: typer.Typer) -> None:
    """Add the command and its own."""
    group = typer.Typer(
        help="List sample files, or fetch one.", epilog=EXAMPLES, rich_markup_mode="rich"
    )
    group.callback(invoke_without_command=True)(list_all)
    group.command("get", epilog=EXAMPLES, no_args_is_help=True)(get)
    cli.add_typer(group, name="samples")


def list_all(context: typer.Context, as_json: JsonOption = False) -> None:
    """List sample files, or fetch one."""
    if context.invoked_subcommand is not None:
        return
    from genoviz.samples import list_samples, samples_folder

    folder = samples_folder()
    rows: list[dict[str, Any]] = []
    for sample in list_samples():
        path = folder / sample.file_name
        is_here = not sample.is_public or path.exists()
        fields = ("name", "title", "kind", "n_bytes", "sha256", "url", "source", "licence")
        rows.append({name: getattr(sample, name) for name in fields} | {"is_here": is_here})
    results = {"samples": rows, "folder": str(folder)}
    width = max(len(row["name"]) for row in rows)
    sentences = [
        f"{row['name']:{width}}  {quantity(row['n_bytes'], 'B'):>8}  "
        f"{'here' if row['is_here'] else 'to fetch':8}  {row['title']} ({row['source']})"
        for row in rows
    ]
    sentences.append(f"Fetched files are kept in {folder}")
    print_results(results, sentences, as_json=as_json)


def get(
    names: Annotated[
        list[str], typer.Argument(metavar="NAME", help="Samples, as the list names them.")
    ],
    base_url: Annotated[
        str | None,
        typer.Option(
            "--url", envvar="GENOVIZ_SAMPLES_URL", help="Mirror that serves the files by name."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Fetch samples, and print where each file is."""
    from genoviz.samples import find_sample, iter_get_sample

    found: dict[str, str] = {}
    for name in names:
        find_sample(name)
    for name in names:
        with show_progress() as bar:
            for progress in iter_get_sample(name, base_url=base_url):
                bar.update(f"Fetching {name}", progress.n_bytes_done, progress.n_bytes_total, "B")
        found[name] = str(progress.path)
    print_results({"files": found}, found.values(), as_json=as_json)
