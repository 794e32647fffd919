# Breeding values of the samples of a file of genotypes, by GBLUP.
#
#   julia example.jl lines.bed yield.txt        (a phenotype a line, nan where there is none)
include("genoviz.jl")

lines = Genoviz.open(ARGS[1])
Genoviz.put(lines, "phenotype", parse.(Float64, readlines(ARGS[2])))
Genoviz.solve(lines, "method=GBLUP heritability=0.5")
foreach(println, Genoviz.get(lines, "breeding_values"))
Genoviz.close(lines)
