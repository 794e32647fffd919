/* Genotypes that stay packed, multiplied and solved with, for programs in C, Fortran, R and Julia.
 *
 * A handle has a process of genoviz of its own, which holds the genotypes and computes; arrays go
 * through memory that both share. So the program needs no Python in it, and none of its threads,
 * signals or libraries meets those of genoviz. Calls with one handle come one after the other.
 *
 * Arrays are double, columns one after the other (as in Fortran, R and Julia); NaN is a missing
 * phenotype. Functions that return int give 0, or -1 and a sentence in genoviz_error().
 */
#ifndef GENOVIZ_H
#define GENOVIZ_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct genoviz genoviz;

/* Why the last call of this thread failed; "" if none did. */
const char* genoviz_error(void);

/* Open a file of genotypes (.bed, .pgen, .bgen, VCF, BCF); NULL if that cannot be.
 *
 * Options are words NAME=VALUE between spaces, or NULL, of the matrix Z, which counts allele A1:
 * centre=yes|no (yes), standardise=yes|no (no), missing=mean|zero (mean), packing=2bit|5codes,
 * dtype=float64|float32 and backend=auto|cpu|cuda. */
genoviz* genoviz_open(const char* path, const char* options);

/* The same for genotypes in memory, as a .bed file has them after its three first bytes: variant
 * after variant, four samples a byte, (n_samples + 3) / 4 bytes a variant. */
genoviz* genoviz_pack(const unsigned char* packed, int64_t n_samples, int64_t n_variants,
                      const char* options);

int64_t genoviz_samples(const genoviz* handle);
int64_t genoviz_variants(const genoviz* handle);

/* y = Z x: x has n_variants rows, y n_samples, both n_columns. */
int genoviz_multiply(genoviz* handle, const double* x, int64_t n_columns, double* y);

/* y = Z' x: x has n_samples rows, y n_variants, both n_columns. */
int genoviz_multiply_transposed(genoviz* handle, const double* x, int64_t n_columns, double* y);

/* Give what the next genoviz_solve takes, in place of what was given before:
 *   phenotype  (n)     of each sample or animal, or of each record
 *   covariates (n, c)  beside the intercept
 *   weights    (n)     of records
 *   records    (n)     the number, from 1, of the sample or animal of each record
 *   sires, dams (animals)  numbers from 1 of parents, which come before their progeny; 0 unknown,
 *                          -1, -2, ... unknown and of this group; for single step
 *   genotyped  (samples)   the number, from 1, of the animal that each sample is; for single step
 *   gamma      (groups, groups)  relationships of groups, which are metafounders then
 * No rows: it is not given any more. */
int genoviz_put(genoviz* handle, const char* name, const double* values, int64_t n_rows,
                int64_t n_columns);

/* Solve the equations of genomic prediction for what was put.
 *
 * Options: method=SNP-BLUP|GBLUP|ssSNPBLUP|ssGTABLUP, heritability=0.5, repeatability,
 * polygenic_weight=0.2, contigs=autosomes|all, preconditioner=diagonal|block|none,
 * tolerance=1e-13 (squared relative residual), max_iterations. Whoever does not reach the tolerance
 * returns 0 too: `is_converged` tells. */
int genoviz_solve(genoviz* handle, const char* options);

/* Copy a result: of the matrix `frequencies` (variants); of the last genoviz_solve `effects`
 * (variants), `breeding_values` (samples or animals), `fixed_effects`, `permanent_effects`,
 * `group_effects`, `residuals`, `is_converged` (1 or 0), `iterations`, `seconds`.
 * n is the room of values. Returns how many values there are, -1 on failure; NULL asks only. */
int64_t genoviz_get(genoviz* handle, const char* name, double* values, int64_t n);

/* Be told while something long goes on what it is, and how much is done (0 to 1). Whoever returns
 * other than 0 stops it; the call then fails with the sentence "stopped". NULL: no more. */
typedef int (*genoviz_teller)(const char* what, double done, void* context);
void genoviz_watch(genoviz* handle, genoviz_teller tell, void* context);

/* End the process of a handle; NULL is none. */
void genoviz_close(genoviz* handle);

#ifdef __cplusplus
}
#endif
#endif
