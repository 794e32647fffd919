"""Pangenome graphs: layouts, pictures, questions, variation sites."""
