"""Passwords of the people of a server: their hashes, in a file."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from pathlib import Path

from genoviz.errors import FileFormatError, GenovizError, ParameterError
from genoviz.io.files.replace_file import replace_file

NAME = re.compile(r"[\w.@+-]{1,100}")
HASH = re.compile(r"\$scrypt\$([A-Za-z0-9+/]+={0,2})\$([A-Za-z0-9+/]+={0,2})")
SCRYPT = {"n": 2**15, "r": 8, "p": 1, "maxmem": 2**26, "dklen": 32}
"""64 MB and a tenth of a second per attempt."""


def hash_password(password: str, salt: bytes | None = None) -> str:
    """Return the salted hash of a password for storage."""
    salt = secrets.token_bytes(16) if salt is None else salt
    key = hashlib.scrypt(password.encode(), salt=salt, **SCRYPT)
    return "$scrypt$" + "$".join(base64.b64encode(part).decode() for part in (salt, key))


def is_password(password: str, kept: str) -> bool:
    """Return whether a password matches a stored hash."""
    found = HASH.fullmatch(kept)
    salt = base64.b64decode(found[1]) if found else b""
    made = hash_password(password, salt)
    return bool(found) and hmac.compare_digest(made, kept)


def read_passwords(path: Path) -> dict[str, str]:
    """Return password hashes by user name.

    Raises
    ------
    FileFormatError
        If a line is not a name and a hash; the message does not quote the line.
    GenovizError
        If the file cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not a text"
        raise GenovizError(f"the passwords of {path} cannot be read: {reason}") from error
    passwords = {}
    for number, line in enumerate(text.splitlines(), start=1):
        name, _, kept = line.strip().partition(":")
        if not name or name.startswith("#"):
            continue
        if not NAME.fullmatch(name) or not HASH.fullmatch(kept):
            raise FileFormatError(
                path.name,
                "is not a name and the hash of a password; "
                "genoviz serve --lab LAB.toml --add-person NAME writes them",
                line=number,
            )
        passwords[name] = kept
    return passwords


def add_person(path: Path, name: str, password: str) -> None:
    """Store a user's password hash in a file, replacing an older one."""
    if not NAME.fullmatch(name):
        raise ParameterError(f"{name!r} cannot be a person's name; letters, digits, . @ + - _ can")
    if len(password) < 8:
        raise ParameterError("a password needs at least 8 letters")
    passwords = read_passwords(path) if path.exists() else {}
    passwords[name] = hash_password(password)
    with replace_file(path) as file:
        file.write("".join(f"{name}:{kept}\n" for name, kept in passwords.items()).encode())
    path.chmod(0o600)
