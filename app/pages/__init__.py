"""The pages of the dashboard: listed here, and nowhere else."""

from app.pages.genotypes import GenotypesPage
from app.pages.kmers import KmersPage
from app.pages.offtargets import OffTargetsPage
from app.pages.pangenome import PangenomePage
from app.pages.tracks import TracksPage

PAGES = (PangenomePage, TracksPage, KmersPage, OffTargetsPage, GenotypesPage)
