"""Downloads of samples, each in a thread of its own, checked by SHA-256."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit

from genoviz.errors import DownloadError, GenovizError
from genoviz.samples.catalogue import Sample

TIMEOUT_SECONDS = 20
_CHUNK_BYTES = 1 << 16


def samples_folder() -> Path:
    """Return the folder in which downloaded samples are kept."""
    import platformdirs

    folder = os.environ.get("GENOVIZ_CACHE_DIR") or platformdirs.user_cache_path("genoviz")
    return Path(folder) / "samples"


class _GivenUpError(Exception):
    """Nobody waits for the download any more."""


class Download:
    """One call of pooch, and what there is to know of it from another thread."""

    def __init__(self, sample: Sample, url: str) -> None:
        self.sample = sample
        self.url = url
        self.n_bytes_done = 0
        self.is_given_up = False
        self.path: Path | None = None
        self.error: GenovizError | None = None

    def run(self) -> None:
        """Fetch the file, or keep the reason why not."""
        import pooch
        import requests

        pooch.get_logger().setLevel("WARNING")
        host = urlsplit(self.url).hostname
        try:
            path = pooch.retrieve(
                self.url,
                known_hash=f"sha256:{self.sample.sha256}",
                fname=self.sample.file_name,
                path=samples_folder(),
                downloader=self._write_content,
            )
            self.path = Path(path)
        except _GivenUpError:
            pass
        except requests.HTTPError as error:
            answer = f"{error.response.status_code} {error.response.reason}"
            self._fail(f"the server answers {answer} to {self.url}", error)
        except requests.exceptions.ChunkedEncodingError as error:
            self._fail(f"the connection to {host} broke off", error)
        except (requests.ConnectionError, requests.Timeout) as error:
            self._fail(f"there is no connection to {host}", error)
        except requests.RequestException as error:
            self._fail(f"{self.url} cannot be fetched", error)
        except ValueError as error:
            self._fail(f"{self.url} is another file than expected, by its SHA-256", error)
        except OSError as error:
            self._fail(f"{samples_folder()} cannot be written: {error.strerror or error}", error)

    def _write_content(self, url: str, path: str, _pooch: object) -> None:
        """Write what ``url`` gives to ``path``; what pooch calls a downloader."""
        import requests

        with (
            requests.get(url, timeout=TIMEOUT_SECONDS, stream=True) as response,
            Path(path).open("wb") as file,
        ):
            response.raise_for_status()
            for chunk in response.iter_content(_CHUNK_BYTES):
                if self.is_given_up:
                    raise _GivenUpError
                file.write(chunk)
                self.n_bytes_done = min(self.n_bytes_done + len(chunk), self.sample.n_bytes)

    def _fail(self, reason: str, cause: Exception) -> None:
        self.error = DownloadError(f"sample {self.sample.name!r} was not downloaded: {reason}")
        self.error.__cause__ = cause
