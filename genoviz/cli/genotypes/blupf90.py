"""``genoviz geno blupf90``: the mixed models of BLUPF90's parameter files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from genoviz.cli.common_options import option, with_examples
from genoviz.cli.genotypes import inputs as io
from genoviz.cli.genotypes.tables import write_table
from genoviz.cli.output_kinds import TableOption, table_only
from genoviz.cli.results import print_notes, show_progress

if TYPE_CHECKING:
    import numpy as np

    from genoviz.analyses.genotypes.prediction.preparation import PreparedSingleStep


@with_examples(
    "genoviz geno blupf90 milk.par -o solutions.tsv",
    "genoviz geno blupf90 renf90.par --removed removed.tsv -o solutions.tsv",
)
def blupf90(
    input_file: Annotated[
        Path,
        typer.Argument(
            metavar="PARAMETERS",
            help="BLUPF90 parameter file; file names in it are relative to its folder.",
        ),
    ],
    output: TableOption = None,
    removed: Annotated[
        Path | None,
        option(
            "Also write the markers and animals that quality control removes, and why, to this "
            "file."
        ),
    ] = None,
) -> None:
    """Solve the mixed model of a BLUPF90 parameter file.

    Models can have several traits, missing observations, fixed and random effects, covariates,
    random regressions and maternal effects, with or without a pedigree. Each row has a trait,
    effect and level, numbered from 1 as in the parameter file; OPTION sol se adds SE. For linearly
    dependent fixed effects, only differences of solutions are meaningful. With OPTION SNP_file,
    the quality of genotypes is controlled, and G is tuned to A22, as by BLUPF90. If the solver does
    not converge, CONVERGED is no, and the exit status is 3.
    """
    import numpy as np

    from genoviz.analyses.genotypes.prediction.mixed_model import iter_solve_mixed_model
    from genoviz.analyses.genotypes.prediction.preparation import iter_prepare_mixed_model
    from genoviz.io.genotypes.blupf90 import read_blupf90

    table_only(removed, option="--removed")
    with show_progress() as bar:
        bar.update("Reading", 0, None, "files")
        asked = read_blupf90(input_file)
        print_notes(*asked.notes)
        model, prepared = io.last_result(iter_prepare_mixed_model(asked.model), bar)
        for number, each in enumerate(prepared):
            if all(each.notes != other.notes for other in prepared[:number]):
                print_notes(*each.notes)
        limits = {"tolerance": asked.tolerance, "max_iterations": asked.max_iterations}
        for last in iter_solve_mixed_model(
            model,
            standard_errors=asked.standard_errors,
            **{name: value for name, value in limits.items() if value is not None},
        ):
            bar.update("Solving", len(last.residuals) - 1, None, "iterations", last.sentence)
    columns = {
        "#TRAIT": last.traits + 1,
        "EFFECT": last.effects + 1,
        "LEVEL": last.levels + 1,
        "SOLUTION": last.values,
    }
    if last.standard_errors is not None:
        columns["SE"] = last.standard_errors
    word = "yes" if last.is_converged else "no"
    write_table(columns | {"CONVERGED": np.full(len(last.values), word)}, output)
    if removed is not None:
        write_table(_removed_columns(prepared), removed)
    remedy = "OPTION conv_crit and OPTION maxrounds set where to stop"
    io.tell_end(last.sentence, is_converged=last.is_converged, remedy=remedy)


def _removed_columns(prepared: list[PreparedSingleStep]) -> dict[str, np.ndarray]:
    """Return a table of what quality control removed."""
    import numpy as np

    rows = {
        (what, str(name), why): None
        for each in prepared
        for what, found in (("marker", each.removed_variants), ("animal", each.removed_samples))
        for why, ids in found.items()
        for name in ids
    }
    columns = np.array(list(rows), np.str_).reshape(-1, 3).T
    return dict(zip(("#KIND", "ID", "REASON"), columns, strict=True))
