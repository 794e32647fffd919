"""Make the files of this folder, and the README that lists them.

    python data_samples/make_samples.py

What is made is fixed by seeds. After a change, put the new size and SHA-256 that are printed into
``genoviz/samples/catalogue.py`` and run again; the tests hold files, README and list in step.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from genoviz.samples import BUNDLED_FOLDER, MAKERS, Sample, list_samples

README_START = """\
# Samples

Small files of our own, each made to be interesting on its page within a second. They are written by
`python data_samples/make_samples.py` from fixed seeds. `genoviz samples` lists them together with
public graphs, which are downloaded when they are asked for and not kept here.

| name | file | what it is | source | licence | bytes | SHA-256 |
|---|---|---|---|---|---|---|
"""


def readme_text() -> str:
    """Return the README, from the list of samples."""
    rows = [readme_rows(sample) for sample in list_samples() if not sample.is_public]
    return README_START + "".join(rows)


def readme_rows(sample: Sample) -> str:
    """Return a sample's row of the table, and those of the files that come with it."""
    titles = [sample.title] + ["comes with it"] * len(sample.companions)
    return "".join(
        f"| {sample.name} | {file.file_name} | {title} | {sample.source} "
        f"| {sample.licence} | {file.n_bytes} | {file.sha256} |\n"
        for title, file in zip(titles, (sample, *sample.companions), strict=True)
    )


def main() -> None:
    """Write all files."""
    for sample in list_samples():
        if sample.is_public:
            continue
        path = BUNDLED_FOLDER / sample.file_name
        MAKERS[sample.name](path)
        for file in (sample, *sample.companions):
            data = path.with_name(file.file_name).read_bytes()
            print(file.file_name, len(data), hashlib.sha256(data).hexdigest())
    (Path(__file__).parent / "README.md").write_text(readme_text())


if __name__ == "__main__":
    main()
