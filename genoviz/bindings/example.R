# Breeding values of the samples of a file of genotypes, by GBLUP.
#
#   Rscript example.R lines.bed yield.txt        (a phenotype a line, nan where there is none)
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)))
source(file.path(here, "genoviz.R"))

arguments <- commandArgs(trailingOnly = TRUE)
lines <- genoviz_open(arguments[1])
genoviz_put(lines, "phenotype", as.numeric(readLines(arguments[2])))
genoviz_solve(lines, "method=GBLUP heritability=0.5")
cat(sprintf("%.9f\n", genoviz_get(lines, "breeding_values")), sep = "")
genoviz_close(lines)
