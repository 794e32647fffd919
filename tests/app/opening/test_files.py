"""What may be opened on the server, and when a file is the one that was read before."""

from __future__ import annotations

import gzip
import os
import re

import pytest

from genoviz.errors import ParameterError
from genoviz_app.opening import genotype_names
from genoviz_app.opening.files import FileCache, OpeningProgress, check_path
from genoviz_app.opening.served_files import ENDINGS, FileKind
from genoviz_app.session.session import Session
from tests.app.conftest import poll_until


@pytest.fixture
def folders(tmp_path):
    for name in ("open", "secret", "open-too"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "g.gfa").write_text("S\t1\tA\n")
    return tmp_path.resolve()


@pytest.mark.parametrize(
    "name",
    ["secret/g.gfa", "open/../secret/g.gfa", "open/link.gfa", "open/way/g.gfa", "open-too/g.gfa"],
)
def test_no_link_and_no_dots_lead_out_of_the_folders(folders, name):
    (folders / "open" / "link.gfa").symlink_to(folders / "secret" / "g.gfa")
    (folders / "open" / "way").symlink_to(folders / "secret")
    assert (folders / name).is_file()
    with pytest.raises(ParameterError, match="where this server may read"):
        check_path(str(folders / name), (folders / "open",))


def test_a_link_and_dots_that_stay_inside_are_followed(folders):
    inside = folders / "open" / "g.gfa"
    (folders / "secret" / "back.gfa").symlink_to(inside)
    for name in ("open/g.gfa", "secret/../open/g.gfa", "secret/back.gfa"):
        assert check_path(str(folders / name), (folders / "open",)) == inside


class Content:
    """What was read; a plain list cannot be weakly referenced."""

    def __init__(self, text):
        self.text = text


def test_a_file_is_read_anew_when_its_time_or_its_size_changes(folders):
    path = folders / "open" / "g.gfa"
    cache = FileCache(
        lambda path: iter([OpeningProgress("", 1.0, Content(path.read_text()))]), n_kept=3
    )

    def read():
        *_, content = cache.iter_read(path)
        return content

    first, status = read(), path.stat()
    assert read() is first
    path.write_text("S\t1\tC\n")  # of the same size
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    second = read()
    assert second.text == "S\t1\tC\n"
    path.write_text("S\t1\tCC\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    assert read().text == "S\t1\tCC\n"


OPENABLE = [(kind, ending) for kind, endings in ENDINGS.items() for ending in endings]


@pytest.mark.parametrize(("kind", "ending"), OPENABLE, ids=[ending for _, ending in OPENABLE])
def test_a_file_with_nothing_in_it_is_one_sentence_that_names_it(
    tmp_path, graph_file, monkeypatch, kind, ending
):
    monkeypatch.setattr(genotype_names, "REST_SECONDS", 0.0)  # no other part of a dataset comes
    name = f"nothing{ending}"
    contents = {"0 bytes": b"", "comment": b"# only this\n", "gzip": gzip.compress(b"")}
    wanted = r"is empty|has no |needs |cannot be read|nothing\.pvar"
    for content in contents.values():
        for is_upload in (True, False):
            session = Session()
            if kind in (FileKind.LAYOUT, FileKind.ANNOTATIONS):
                session.open(str(graph_file))
                poll_until(session.poll, lambda session=session: not session.opens_files)
            opened = session.opened
            if is_upload:
                session.open_upload(name, content)
            else:
                (tmp_path / name).write_bytes(content)
                session.open(str(tmp_path / name))
            poll_until(session.poll, lambda session=session: not session.opens_files)
            said = session.problem or session.genotypes.awaited
            assert re.search(wanted, said), said
            assert "nothing." in said
            assert "\n" not in said
            assert "unexpected" not in said
            assert session.opened is opened, "what was open stays open"
            session.close()
