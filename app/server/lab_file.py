"""The TOML file that has the server configuration of a lab."""

from __future__ import annotations

import difflib
import secrets
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from genoviz.errors import FileFormatError, GenovizError, ParameterError
from genoviz_app.opening.served_collections import expand_collections
from genoviz_app.server.doors import LOOPBACK, Doors
from genoviz_app.server.lab import ADDRESS, PORT, Lab, is_prefix
from genoviz_app.server.limits import KEPT_MINUTES, TAB, Limits, Quota
from genoviz_app.server.passwords import read_passwords
from genoviz_app.server.people import OAuth


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_number(lowest: int, highest: int) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and lowest <= value <= highest


TEXT = (_is_text, "a text in quotes")
TEXTS = (_is_texts, 'a list of texts, as ["a", "b"]')
YES_NO = (lambda value: isinstance(value, bool), "true or false")
MEGABYTES = (_is_number(0, 10**6), "a whole number from 0 to 1000000")
GIGABYTES = (_is_number(1, 10**5), "a whole number from 1 to 100000")
MINUTES = (_is_number(0, 10**5), "a whole number from 0 to 100000")
SOME = (_is_number(1, 10**5), "a whole number from 1 to 100000")
ROWS = (_is_number(1, 10**9), "a whole number from 1 to 1000000000")
OF_GROUPS = "upload_megabytes", "memory_gigabytes", "jobs", "job_minutes", "rows"

KEYS: Mapping[str, Mapping[str, tuple[Callable[[Any], bool], str]]] = {
    "server": {
        "address": TEXT,
        "port": (_is_number(0, 65535), "a whole number from 0 to 65535"),
        "prefix": (is_prefix, 'a text as "/genoviz"'),
        "https": YES_NO,
        "scheduler": TEXT,
        "hosts": TEXTS,
        "origins": TEXTS,
    },
    "files": {"offer": TEXTS, "folders": TEXTS},
    "people": {"passwords": TEXT, "secret_file": TEXT},
    "oauth": {
        "provider": TEXT,
        "key": TEXT,
        "secret_file": TEXT,
        "redirect": TEXT,
        "allow": TEXTS,
    },
    "groups": {
        "people": TEXTS,
        "folders": TEXTS,
        "upload_megabytes": MEGABYTES,
        "memory_gigabytes": GIGABYTES,
        "jobs": SOME,
        "job_minutes": SOME,
        "rows": ROWS,
    },
    "limits": {
        "upload_megabytes": MEGABYTES,
        "memory_gigabytes": GIGABYTES,
        "tab_gigabytes": GIGABYTES,
        "gpu_gigabytes": GIGABYTES,
        "kept_minutes": MINUTES,
        "job_minutes": SOME,
        "rows": ROWS,
    },
}
"""Sections and their keys, with a validator and a description of valid values. ``groups`` has a
subsection for each group, such as [groups.plants]."""


def read_lab(path: Path, say: Callable[[str], None] = lambda _: None) -> Lab:
    """Read the server configuration from a file; for ``say`` see `expand_collections`.

    Raises
    ------
    FileFormatError
        If it is not TOML, a key is unknown, or a value is invalid.
    GenovizError
        If the file, or a file or folder that it names, cannot be read.
    """
    return _Reader(path, _parse(path)).lab(say)


def passwords_of(path: Path) -> Path:
    """Return the path of a lab's password file, which need not exist yet.

    Raises
    ------
    FileFormatError
        If it names no password file, or is not TOML.
    """
    people = _parse(path).get("people")
    name = people.get("passwords") if isinstance(people, dict) else None
    if not _is_text(name):
        raise FileFormatError(path.name, 'needs a line passwords = "people.txt" in [people]')
    return path.resolve().parent / Path(name).expanduser()


def _parse(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise GenovizError(f"{path} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FileFormatError(path.name, f"is not TOML: {error}") from error


class _Reader:
    """Checks the sections of one file."""

    def __init__(self, path: Path, found: dict[str, Any]) -> None:
        self._path, self._found = path, found
        self._folder = path.resolve().parent

    def lab(self, say: Callable[[str], None]) -> Lab:
        """Return the whole configuration."""
        self._refuse_unknown(self._found, KEYS, "")
        server, files = self._section("server"), self._section("files")
        people, limits = self._section("people"), self._section("limits")
        passwords = self._file(people.get("passwords"), "people", "passwords")
        if passwords is not None:
            read_passwords(passwords)
        offer = expand_collections(
            (self._file(name, "files", "offer", or_folder=True) for name in files.get("offer", ())),
            say,
        )
        lab = Lab(
            address=server.get("address", ADDRESS),
            port=server.get("port", PORT),
            prefix=server.get("prefix", "").rstrip("/"),
            is_https=server.get("https", False),
            scheduler=server.get("scheduler", ""),
            hosts=tuple(server.get("hosts", ())),
            origins=tuple(server.get("origins", ())),
            offer=offer.paths,
            members=offer.members,
            folders=self._folders(files, "files"),
            groups=self._groups(),
            passwords=passwords,
            oauth=self._oauth(),
            secret=self._secret(people.get("secret_file")),
            memory_gigabytes=limits.get("memory_gigabytes"),
            gpu_gigabytes=limits.get("gpu_gigabytes"),
            kept_minutes=limits.get("kept_minutes", KEPT_MINUTES),
            tab=Limits(
                limits.get("upload_megabytes", TAB.upload_megabytes),
                limits.get("tab_gigabytes"),
                None,
                limits.get("job_minutes"),
                limits.get("rows"),
            ),
            quotas=self._quotas(),
        )
        self._check(lab)
        return lab

    def _check(self, lab: Lab) -> None:
        """Check the consistency of the settings."""
        try:
            Doors.of(lab.hosts, lab.origins)
        except ParameterError as error:
            self._complain(f"[server] {error}")
        if lab.passwords is not None and lab.oauth is not None:
            self._complain("has both [people] passwords and [oauth]; one of them is needed")
        if lab.groups and lab.people is None:
            self._complain("has [groups] and nobody who logs in; [people] or [oauth] is needed")
        if (
            not lab.folders
            and not lab.groups
            and (lab.people is not None or lab.address not in LOOPBACK)
        ):
            self._complain(
                "[files] folders is missing: others than you may open what is below them"
            )

    def _section(self, name: str) -> dict[str, Any]:
        section = self._found.get(name, {})
        self._check_section(section, KEYS[name], name)
        return section

    def _check_section(self, section: Any, keys: Mapping[str, Any], name: str) -> None:
        if not isinstance(section, dict):
            self._complain(f"[{name}] is not a section; one with keys is needed")
        self._refuse_unknown(section, keys, name)
        for key, value in section.items():
            is_right, needed = keys[key]
            if not is_right(value):
                self._complain(f"[{name}] {key} is {_shown(value)}; {needed} is needed")

    def _refuse_unknown(
        self, found: Mapping[str, Any], known: Mapping[str, Any], name: str
    ) -> None:
        for key in found:
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1)
                hint = f"; is {near[0]!r} meant?" if near else f"; it may have {', '.join(known)}"
                what = (
                    f"[{name}] has an unknown key {key!r}"
                    if name
                    else f"has an unknown section [{key}]"
                )
                self._complain(what + hint)

    def _groups(self) -> tuple[tuple[frozenset[str], tuple[Path, ...]], ...]:
        groups = self._found.get("groups", {})
        if not isinstance(groups, dict):
            self._complain("[groups] is not a section; one for each group is needed")
        found = []
        for name, group in groups.items():
            self._check_section(group, KEYS["groups"], f"groups.{name}")
            for key in ("people", "folders"):
                if key not in group:
                    self._complain(f"[groups.{name}] needs {key}")
            found.append((frozenset(group["people"]), self._folders(group, f"groups.{name}")))
        return tuple(found)

    def _quotas(self) -> tuple[Quota, ...]:
        found = []
        for name, group in self._found.get("groups", {}).items():
            limits = Limits(**{key: group[key] for key in OF_GROUPS if key in group})
            if limits != Limits():
                found.append(Quota(name, frozenset(group["people"]), limits))
        return tuple(found)

    def _oauth(self) -> OAuth | None:
        if "oauth" not in self._found:
            return None
        from panel.auth import AUTH_PROVIDERS

        given = self._section("oauth")
        for key in KEYS["oauth"]:
            if key not in given:
                self._complain(f"[oauth] needs {key}")
        if given["provider"] not in AUTH_PROVIDERS:
            known = ", ".join(sorted(AUTH_PROVIDERS))
            self._complain(f"[oauth] provider is {given['provider']!r}; one of {known} is needed")
        secret = self._file(given["secret_file"], "oauth", "secret_file")
        return OAuth(
            given["provider"],
            given["key"],
            secret.read_text(encoding="utf-8").strip(),
            given["redirect"],
            frozenset(given["allow"]),
        )

    def _secret(self, name: str | None) -> str:
        """Return the key that signs cookies, from a file that is created if missing."""
        if name is None:
            return ""
        path = self._folder / Path(name).expanduser()
        try:
            if not path.exists():
                path.touch(mode=0o600)
                path.write_text(secrets.token_hex(32))
            secret = path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not a text"
            raise GenovizError(f"the secret of {path} cannot be read: {reason}") from error
        if len(secret) < 32:
            self._complain(f"[people] secret_file {path.name} has fewer than 32 letters")
        return secret

    def _file(
        self, name: str | None, section: str, key: str, *, or_folder: bool = False
    ) -> Path | None:
        if name is None:
            return None
        path = (self._folder / Path(name).expanduser()).resolve()
        if not (path.is_file() or (or_folder and path.is_dir())):
            self._complain(f"[{section}] {key}: there is no file {path}")
        return path

    def _folders(self, section: dict[str, Any], name: str) -> tuple[Path, ...]:
        folders = []
        for each in section.get("folders", ()):
            folder = (self._folder / Path(each).expanduser()).resolve()
            if not folder.is_dir():
                self._complain(f"[{name}] folders: there is no folder {folder}")
            folders.append(folder)
        return tuple(folders)

    def _complain(self, found: str) -> None:
        raise FileFormatError(self._path.name, found)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
