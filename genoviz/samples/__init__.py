"""Sample files by name: our own, which come with the project, and public ones to download.

Downloads are kept in the user's cache folder (``GENOVIZ_CACHE_DIR`` names another) and checked by
SHA-256. ``GENOVIZ_SAMPLES_URL`` names a mirror: a folder that serves the files by name.
"""

from genoviz.samples.catalogue import Sample, SampleFile, find_sample, list_samples
from genoviz.samples.fetching import (
    BUNDLED_FOLDER,
    DownloadProgress,
    get_sample,
    iter_get_sample,
    samples_folder,
)
from genoviz.samples.makers import MAKERS

__all__ = [
    "BUNDLED_FOLDER",
    "MAKERS",
    "DownloadProgress",
    "Sample",
    "SampleFile",
    "find_sample",
    "get_sample",
    "iter_get_sample",
    "list_samples",
    "samples_folder",
]
