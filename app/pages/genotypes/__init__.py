"""The Genotypes page: quality, samples, association and prediction."""

from genoviz_app.pages.genotypes.page import GenotypesPage

__all__ = ["GenotypesPage"]
