"""The pages of the dashboard: listed here, and nowhere else."""

from app.pages.pangenome import PangenomePage

PAGES = (PangenomePage,)
