# The calls of genoviz.h for Julia: include("genoviz.jl"), then
#
#   herd = Genoviz.open("herd.bed")
#   y = Genoviz.multiply(herd, x)                    # Z x
#   Genoviz.put(herd, "phenotype", milk)
#   Genoviz.solve(herd, "method=GBLUP heritability=0.3")
#   values = Genoviz.get(herd, "breeding_values")
#   Genoviz.close(herd)
module Genoviz

const LIBRARY = joinpath(@__DIR__, "libgenoviz.so")

mutable struct Genotypes
    handle::Ptr{Cvoid}
    n_samples::Int64
    n_variants::Int64
end

check(failed) = failed < 0 ? error(unsafe_string(ccall((:genoviz_error, LIBRARY), Cstring, ()))) : failed

function open(path, options = "")
    handle = ccall((:genoviz_open, LIBRARY), Ptr{Cvoid}, (Cstring, Cstring), path, options)
    handle == C_NULL && check(-1)
    n_samples = ccall((:genoviz_samples, LIBRARY), Int64, (Ptr{Cvoid},), handle)
    n_variants = ccall((:genoviz_variants, LIBRARY), Int64, (Ptr{Cvoid},), handle)
    finalizer(close, Genotypes(handle, n_samples, n_variants))
end

"Z x: x has a row for each variant."
function multiply(genotypes, x)
    size(x, 1) == genotypes.n_variants || error("x needs a row for each variant")
    columns, y = Matrix{Float64}(reshape(x, size(x, 1), :)), zeros(genotypes.n_samples, size(x, 2))
    check(ccall((:genoviz_multiply, LIBRARY), Cint,
        (Ptr{Cvoid}, Ptr{Float64}, Int64, Ptr{Float64}), genotypes.handle, columns, size(x, 2), y))
    y
end

"Z' x: x has a row for each sample."
function multiply_transposed(genotypes, x)
    size(x, 1) == genotypes.n_samples || error("x needs a row for each sample")
    columns, y = Matrix{Float64}(reshape(x, size(x, 1), :)), zeros(genotypes.n_variants, size(x, 2))
    check(ccall((:genoviz_multiply_transposed, LIBRARY), Cint,
        (Ptr{Cvoid}, Ptr{Float64}, Int64, Ptr{Float64}), genotypes.handle, columns, size(x, 2), y))
    y
end

"What `solve` takes; NaN is a missing phenotype."
function put(genotypes, name, values)
    columns = Matrix{Float64}(reshape(values, size(values, 1), :))
    check(ccall((:genoviz_put, LIBRARY), Cint,
        (Ptr{Cvoid}, Cstring, Ptr{Float64}, Int64, Int64),
        genotypes.handle, name, columns, size(columns)...))
    genotypes
end

function solve(genotypes, options = "")
    check(ccall((:genoviz_solve, LIBRARY), Cint, (Ptr{Cvoid}, Cstring), genotypes.handle, options))
    genotypes
end

function get(genotypes, name)
    find(values, n) = check(ccall((:genoviz_get, LIBRARY), Int64,
        (Ptr{Cvoid}, Cstring, Ptr{Float64}, Int64), genotypes.handle, name, values, n))
    values = zeros(find(C_NULL, 0))
    isempty(values) || find(values, length(values))
    values
end

function close(genotypes)
    ccall((:genoviz_close, LIBRARY), Cvoid, (Ptr{Cvoid},), genotypes.handle)
    genotypes.handle = C_NULL
    nothing
end

end
