"""The pages of the dashboard: listed here, and nowhere else."""

from app.pages.pangenome import PangenomePage
from app.pages.tracks import TracksPage

PAGES = (PangenomePage, TracksPage)
