"""Tables that the commands of ``genoviz geno`` write: tabs, one header line, NA for missing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from genoviz.cli.intervals.options import write_output

if TYPE_CHECKING:
    import numpy as np
    import polars

    from genoviz.analyses.genotypes.prediction.blup_run import BlupSnapshot
    from genoviz.model.genotypes.genotypes import Genotypes, SampleTable

_ROWS = 1 << 18


def sample_columns(samples: SampleTable) -> dict[str, Any]:
    """Return the columns that say who the samples are."""
    return {"#FID": samples.family_ids, "IID": samples.ids}


def numbered_columns(name: str, values: np.ndarray) -> dict[str, Any]:
    """Return the columns of a matrix as NAME1, NAME2 and so on."""
    return {f"{name}{k + 1}": values[:, k] for k in range(values.shape[1])}


def with_groups(
    columns: dict[str, np.ndarray], groups: np.ndarray, effects: np.ndarray
) -> dict[str, np.ndarray]:
    """Return columns of a pedigree's animals with a row more for each group of parents."""
    import numpy as np

    n_animals = len(columns["#ID"])
    found = {
        name: np.append(values, np.full(len(groups), np.nan if values.dtype.kind == "f" else 0))
        for name, values in columns.items()
        if name != "#ID"
    }
    found["BREEDING_VALUE"][n_animals:] = effects
    is_group = np.repeat([0, 1], [n_animals, len(groups)])
    return {"#ID": np.append(columns["#ID"], groups), "IS_GROUP": is_group, **found}


def write_predictions(
    values: dict[str, Any],
    output: Path | None,
    genotypes: Genotypes,
    last: BlupSnapshot,
    effects: Path | None,
) -> None:
    """Write breeding values, and effects if there is a file for them, with CONVERGED each."""
    import numpy as np

    def with_end(columns: dict[str, Any]) -> dict[str, Any]:
        word = "yes" if last.is_converged else "no"
        return columns | {"CONVERGED": np.full(len(next(iter(columns.values()))), word)}

    write_table(with_end(values), output)
    if effects is not None:
        columns = genotypes.variants.columns | {"EFFECT": last.effects}
        write_table(with_end(columns), effects)


def write_table(columns: dict[str, Any], output: Path | None) -> None:
    """Write columns to a file (in gzip by its name), or to standard output."""
    from genoviz.io.text.columns import join_columns
    from genoviz.io.text.numbers import table_column

    def texts() -> Iterator[bytes]:
        yield ("\t".join(columns) + "\n").encode()
        for start in range(0, len(next(iter(columns.values()))), _ROWS):
            parts = [values[start : start + _ROWS] for values in columns.values()]
            yield join_columns([table_column(part) for part in parts])

    write_output(texts(), output)


def write_frame(frame: polars.DataFrame, output: Path | None) -> None:
    """Write a frame as `write_table` does, some rows at a time."""

    def texts() -> Iterator[bytes]:
        for start in range(0, max(frame.height, 1), _ROWS):
            rows = frame.slice(start, _ROWS).fill_nan(None)
            text = rows.write_csv(separator="\t", null_value="NA", include_header=start == 0)
            yield text.encode()

    write_output(texts(), output)
