/* Breeding values of the samples of a file of genotypes, by GBLUP.
 *
 *   cc example.c -L. -lgenoviz -Wl,-rpath,. -o example
 *   ./example lines.bed yield.txt        (a phenotype a line, nan where there is none)
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "genoviz.h"

static int fail(const char* sentence) {
    fprintf(stderr, "%s\n", sentence);
    return 1;
}

int main(int n_arguments, char** arguments) {
    if (n_arguments != 3) return fail("use: example GENOTYPES PHENOTYPES");
    genoviz* lines = genoviz_open(arguments[1], "centre=yes");
    if (!lines) return fail(genoviz_error());

    size_t n = (size_t)genoviz_samples(lines);
    double *yield = calloc(n, sizeof *yield), *values = calloc(n, sizeof *values);
    FILE* file = fopen(arguments[2], "r");
    if (!yield || !values || !file) return fail("the phenotypes cannot be read");
    for (size_t i = 0; i < n; i++)
        if (fscanf(file, "%lf", yield + i) != 1) return fail("there are too few phenotypes");
    fclose(file);

    if (genoviz_put(lines, "phenotype", yield, (int64_t)n, 1) ||
        genoviz_solve(lines, "method=GBLUP heritability=0.5") ||
        genoviz_get(lines, "breeding_values", values, (int64_t)n) < 0)
        return fail(genoviz_error());
    for (size_t i = 0; i < n; i++) printf("%.9f\n", values[i]);
    genoviz_close(lines);
    free(yield);
    free(values);
    return 0;
}
