"""Simulate packed genotypes: linked variants in populations, or gene dropping in a pedigree.

Each haplotype has a *class*, a uniform 16-bit number. At each variant it keeps the class of the
previous variant with probability ``keep / 65536``, and otherwise draws a new one. It carries A1 if
``(class ^ flip) < limit``. So A1 has frequency ``limit / 65536``, and neighbours are linked: r
decays with the product of the keeping probabilities, and a flip changes its sign.

Arguments of ``draw_genotypes``
-------------------------------
============= ======= ======================= ==================================================
name          dtype   shape                   meaning
============= ======= ======================= ==================================================
first_variant int64   scalar                  number of the first of these m variants among all
keeps         uint32  (m,)                    2**16 times the probability to keep the class
limits        uint32  (m, n_populations)      2**16 times the frequency of A1
flips         uint16  (m,)                    0 or 65535
missing_limit uint64  scalar                  2**16 times the rate of missing genotypes
offsets       int64   (n_populations + 1,)    samples offsets[p] .. offsets[p + 1] are of p
seed          uint64  scalar
classes       uint16  (2, n_samples)          in and out: the classes at the variant before
packed        uint8   (m, (n_samples + 3)//4) out: 2 bits a sample, as in a .bed file
============= ======= ======================= ==================================================

Arguments of ``drop_genotypes``
-------------------------------
============= ======= ======================= ==================================================
founder_rows  int64   (n_animals,)            row of an animal in ``founders``, or -1
sires, dams   int64   (n_animals,)            animal, before its progeny, or -1
founders      uint8   (m, (n_founders+3)//4)  packed genotypes of the founders
frequencies   float64 (m,)                    of A1, for alleles that nobody passes on
crossovers    float64 (m,)                    recombination rate with the variant before
strands       uint8   (2, n_animals)          in and out: which haplotype of sire and dam is copied
packed        uint8   (m, (n_animals + 3)//4) out
============= ======= ======================= ==================================================

Random numbers are SplitMix64's outputs for (seed, variant, sample), so the result depends neither
on threads nor on blocks of variants. There is no CUDA twin: the work is one pass over the result.

References
----------
Steele, Lea, Flood 2014, Fast splittable pseudorandom number generators,
doi:10.1145/2660193.2660195.
MacCluer et al. 1986, Pedigree analysis by computer simulation, doi:10.1002/zoo.1430050209
(gene dropping).
"""
