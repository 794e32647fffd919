"""The pages of the dashboard; this is the only list of them."""

from genoviz_app.pages.genotypes import GenotypesPage
from genoviz_app.pages.kmers import KmersPage
from genoviz_app.pages.offtargets import OffTargetsPage
from genoviz_app.pages.pangenome import PangenomePage
from genoviz_app.pages.quality import QualityPage
from genoviz_app.pages.tracks import TracksPage

PAGES = (PangenomePage, TracksPage, KmersPage, OffTargetsPage, GenotypesPage, QualityPage)
