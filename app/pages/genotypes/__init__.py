"""The page of genotypes: their quality, the samples, association and prediction."""

from genoviz_app.pages.genotypes.page import GenotypesPage

__all__ = ["GenotypesPage"]
