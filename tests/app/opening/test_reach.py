"""No link, field, upload or index leads to a file that may not be read, and none is quoted."""

from __future__ import annotations

import os

import pytest

from genoviz.errors import GenovizError, ParameterError
from genoviz_app.opening.files import check_path
from genoviz_app.opening.genotype_files import GenotypeFiles
from genoviz_app.opening.served_files import safe_name
from genoviz_app.pages.genotypes.prediction.form import _read_served
from genoviz_app.pages.kmers.index import check_target
from genoviz_app.pages.offtargets.search.genes import GeneFiles
from genoviz_app.server.settings import SETTINGS
from genoviz_app.session.session import Session
from tests.app.conftest import GFA
from tests.waiting import wait_until

SECRET = "root:x:0:0"


@pytest.fixture
def lab(tmp_path, monkeypatch):
    """A folder that may be read, one that may not, and links from here to there."""
    monkeypatch.setenv("HOME", str(tmp_path / "secret"))
    monkeypatch.chdir(tmp_path)
    for name in ("open", "open/sub", "secret", "open-not"):
        (tmp_path / name).mkdir()
    for name in ("open/a.gfa", "open/a.bed", "open/sub/b.gfa", "secret/s.gfa", "open-not/n.gfa"):
        (tmp_path / name).write_text(GFA)
    (tmp_path / "secret" / "passwd").write_text(f"{SECRET}:root:/:/bin/sh\n")
    (tmp_path / "open" / "passwd").write_text(f"{SECRET}:root:/:/bin/sh\n")
    (tmp_path / "open" / "link.gfa").symlink_to("../secret/s.gfa")
    (tmp_path / "open" / "passwd.gfa").symlink_to("passwd")
    (tmp_path / "open" / "far.gfa").symlink_to(tmp_path / "secret" / "passwd")
    (tmp_path / "open" / "way").symlink_to("../secret")
    (tmp_path / "open" / "round.gfa").symlink_to("round.gfa")
    (tmp_path / "open" / "gone.gfa").symlink_to("../secret/gone.gfa")
    os.mkfifo(tmp_path / "open" / "pipe.gfa")
    return tmp_path


OUT_OF_REACH = [
    *("secret/s.gfa", "open/../secret/s.gfa", "./open/./../secret/s.gfa","sub/../secret/s.gfa"),
    *("open/link.gfa", "open/way/s.gfa", "open/far.gfa", "open/gone.gfa", "open/sub/../way/s.gfa"),
    *("open-not/n.gfa", "~/s.gfa", "~root/.bashrc", "/etc/passwd", "//etc/passwd"),
    *("/proc/self/environ", "/proc/self/cwd/secret/s.gfa"),
    *("/dev/fd/0", "/proc/self/mem", "/proc/1/cmdline", "/sys/kernel/version", "/dev/zero", "/"),
    *("secret", "..", ".", "../", "open/..", "  /etc/passwd  ", "/etc/passwd\n", "\t/etc/shadow"),
    *("open/sub/../../open/../secret/s.gfa", "open//..//secret//s.gfa", "/etc/ssl/private/a.key"),
    *("%2e%2e/secret/s.gfa", "open\\..\\secret\\s.gfa", "file:///etc/passwd", "..%2fsecret/s.gfa"),
    *("http://evil.example/a.gfa", "\\\\host\\share\\a.gfa", "~/../../etc/passwd", "C:\\a.gfa"),
]  # fmt: skip


@pytest.mark.parametrize("text", OUT_OF_REACH)
def test_what_lies_elsewhere_is_out_of_reach(lab, text):
    with pytest.raises(ParameterError, match="where this server may read") as caught:
        check_path(text, (lab / "open",))
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("text", OUT_OF_REACH)
def test_no_index_is_written_elsewhere(lab, text):
    with pytest.raises(ParameterError, match=r"may write|needs to end in \.gvfm|cannot be a path"):
        check_target(text, (lab / "open",))
    with pytest.raises(ParameterError, match="where this server may write"):
        check_target(f"{text.rstrip('/')}/x.gvfm", (lab / "open",))


NOT_A_FILE = [
    ("", "no file is named"),
    ("   ", "no file is named"),
    ("\0", "cannot be a path"),
    ("open/a.gfa\0.bed", "cannot be a path"),
    ("a" * 5000, "cannot be a path"),
    ("/".join(["a" * 100] * 100), "cannot be a path"),
    ("~nobody-of-that-name/a.gfa", "cannot be a path"),
    ("open/round.gfa", "cannot be a path"),
    ("open", "is a folder"),
    ("open/sub/", "is a folder"),
    ("open/pipe.gfa", "is a pipe or a device; a file is needed"),
    ("open/nothing.gfa", "does not exist"),
    ("open/a.gfa/..", "does not exist|is a folder"),
    ("open/a.bed/x", "does not exist|cannot be a path"),
    ("open/nothing.gfa/x", "does not exist"),
    ("open/passwd.gfa/x", "passwd does not end as the name of a genomic file|does not exist"),
    ("open/<script>.gfa", "does not exist"),
    ("open/passwd", "does not end as the name of a genomic file"),
    ("open/passwd.gfa", "passwd does not end as the name of a genomic file"),
]


@pytest.mark.parametrize(("text", "sentence"), NOT_A_FILE)
def test_what_is_no_file_is_said_in_a_sentence(lab, text, sentence):
    with pytest.raises(ParameterError, match=sentence) as caught:
        check_path(text, (lab / "open",))
    assert SECRET not in str(caught.value)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("name", ["reads.fq", "reads.FASTQ.gz"])
def test_reads_are_named_as_what_they_are(lab, name):
    (lab / "open" / name).write_bytes(b"@r\nACGT\n+\nIIII\n")
    with pytest.raises(ParameterError, match=f"^{name} has reads .FASTQ., .* genoviz bwt spectrum"):
        check_path(f"open/{name}", (lab / "open",))


def test_what_lies_in_the_folders_is_read(lab):
    for text in ("open/a.gfa", "open/sub/../a.gfa", " open/a.gfa ", str(lab / "open" / "a.gfa")):
        assert check_path(text, (lab / "open",)) == lab / "open" / "a.gfa"
    assert check_path("secret/s.gfa", (lab / "open", lab / "secret" / "s.gfa"))
    assert check_path("secret/s.gfa")


def test_a_chromosome_is_read_where_its_file_is(lab):
    graph = lab / "open" / "a.gfa"
    for folders in ((), (lab / "open",), (graph,)):
        assert check_path("open/sub/../a.gfa/chr6", folders) == graph / "chr6"
    for text in ("secret/s.gfa/chr6", "open/link.gfa/chr6", "open/a.gfa/../../secret/s.gfa/chr6"):
        with pytest.raises(ParameterError, match="may read"):
            check_path(text, (lab / "open",))


NOT_GENOMIC = [
    *("/etc/passwd", "/etc/hostname", "/proc/self/environ", "/proc/self/cmdline", "/proc/version"),
    *("secret/passwd", "open/passwd.gfa", "open/far.gfa"),
]


@pytest.mark.parametrize("text", NOT_GENOMIC)
def test_a_server_without_folders_reads_no_other_kind_of_file(lab, text):
    with pytest.raises(ParameterError, match="does not end as the name of a genomic file"):
        check_path(text)


def test_a_file_that_the_server_was_started_with_may_have_any_name(lab, monkeypatch):
    odd = lab / "secret" / "graph"
    odd.write_text(GFA)
    with pytest.raises(ParameterError):
        check_path(str(odd), (odd,))
    monkeypatch.setattr(SETTINGS, "offered", (odd,))
    assert check_path(str(odd), (odd,)) == odd


COMPANIONS = [
    "r.bam.bai",
    "r.bai",
    "r.bam.csi",
    "r.cram.crai",
    "r.fam",
    "r.bim",
    "r.pheno.csv",
    "r.x",
]


@pytest.mark.parametrize("name", COMPANIONS)
def test_an_index_and_a_table_beside_a_file_lead_nowhere_else(lab, name):
    (lab / "open" / "r.bam").write_bytes(b"")
    (lab / "open" / name).symlink_to(lab / "secret" / "passwd")
    with pytest.raises(ParameterError, match=f"{name} beside it is a link") as caught:
        check_path("open/r.bam", (lab / "open",))
    assert SECRET not in str(caught.value)
    assert check_path("open/r.bam", (lab / "open", lab / "secret"))
    assert check_path("open/r.bam")


def pages_of(session):
    """The ways by which a person names a file: what opens it, and what is read of the answer."""
    genes = GeneFiles(session)
    return {
        "graphs": session.open,
        "companions": lambda text: session.open("open/a.gfa", companions=(text,)),
        "tracks": session.tracks.open,
        "indexes": session.indexes.open,
        "genomes": session.genomes.open,
        "genotypes": session.genotypes.open,
        "phenotypes": lambda text: session.genotypes.open_phenotypes(text),
        "genes": genes.open,
    }


WAYS = ["graphs", "companions", "tracks", "indexes", "genomes", "genotypes", "phenotypes", "genes"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["secret/passwd", "secret/s.gfa", "open/far.gfa", "open/passwd"])
def test_every_way_to_a_file_has_the_same_rule(lab, way, name):
    session = Session(folders=(lab / "open",))
    try:
        pages_of(session)[way](str(lab / name))
        wait_until(lambda: session.problem, session.poll)
        assert "may read" in session.problem or "genomic file" in session.problem
        assert SECRET not in session.problem
    finally:
        session.close()


@pytest.mark.parametrize("way", WAYS)
def test_a_file_of_another_kind_is_not_quoted_without_folders(lab, way):
    session = Session()
    try:
        pages_of(session)[way](str(lab / "secret" / "passwd"))
        wait_until(lambda: session.problem, session.poll)
        assert "genomic file" in session.problem
        assert SECRET not in session.problem
    finally:
        session.close()


def test_a_pedigree_has_the_same_rule(lab):
    with pytest.raises(GenovizError, match="may read"):
        _read_served(str(lab / "secret" / "passwd"), (lab / "open",))


UPLOADS = [
    *("../x.gfa", "../../../../tmp/x.gfa", "/etc/cron.d/x.gfa", "..\\..\\x.gfa", "C:\\x.gfa"),
    *("x\0.gfa", "x\n.gfa", "\u202egfa.exe.gfa", "..", ".", "", "/", "\\", "../", "x/"),
    "a" * 4000 + ".gfa",
    *("é" * 300 + ".bed", "\ud800.gfa", "~/x.gfa", "<script>.gfa", "=cmd().gfa", "%2e%2e%2fx.gfa"),
]  # fmt: skip


@pytest.mark.parametrize("name", UPLOADS)
def test_an_upload_stays_in_the_folder_of_its_tab(session, name):
    folder = session.upload_path("")
    path = session.upload_path(name or ".")
    assert path.parent == folder
    assert path != folder
    path.write_bytes(b"x")
    assert path.resolve().is_relative_to(folder.resolve())
    assert safe_name(path.name) == path.name
    assert path.suffix == (".bed" if name.endswith(".bed") else path.suffix)


def test_an_upload_that_was_chosen_before_is_one_of_this_tab(session, tmp_path):
    (tmp_path / "x.bed").write_text("secret\t0\t1\n")
    genes = GeneFiles(session)
    genes.open_uploaded(f"../../..{tmp_path}/x.bed")
    wait_until(lambda: session.problem, session.poll)
    assert "secret" not in session.problem
    assert genes.opened is None


def test_all_ways_are_here():
    assert set(WAYS) == set(pages_of(Session()))
    assert hasattr(GenotypeFiles, "open_phenotypes")
