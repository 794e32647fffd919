"""Kernels: functions over arrays, each for the CPU and for NVIDIA GPUs; they do not check input.

Each has a ``cpu.py`` and a ``cuda.py``, except for those in `CPU_ONLY`.
"""

CPU_ONLY = {
    "genotype_simulation": "makes examples, and is bound by writing them",
    "hardy_weinberg": "counts of each variant alone: milliseconds for a million variants",
    "linkage": "a band of pairs within a window; all pairs are a genotype_product",
    "missing_products": "touches missing genotypes alone, which are few",
    "pangenome_simulation": "makes examples, and is bound by writing them",
    "pedigree_inbreeding": "each animal waits for its parents",
}
"""Kernels without a CUDA twin, and why."""
