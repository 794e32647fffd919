# The calls of genoviz.h for R: source("genoviz.R"), then
#
#   herd <- genoviz_open("herd.bed")
#   y <- genoviz_multiply(herd, x)                   # Z x
#   genoviz_put(herd, "phenotype", milk)
#   genoviz_solve(herd, "method=GBLUP heritability=0.3")
#   values <- genoviz_get(herd, "breeding_values")
#   genoviz_close(herd)
#
# The compiled library is looked for beside this file, or where `genoviz_load` is told.

genoviz_load <- function(library) {
  if (!is.loaded("genoviz_r_open")) dyn.load(library)
}

genoviz_folder <- local({
  files <- Filter(Negate(is.null), lapply(sys.frames(), function(frame) frame$ofile))
  if (length(files)) dirname(normalizePath(files[[length(files)]])) else "."
})

.genoviz_call <- function(.routine, ...) {
  genoviz_load(file.path(genoviz_folder, "libgenoviz.so"))
  found <- .C(.routine, ..., error = "", NAOK = TRUE)
  if (nzchar(found$error)) stop(found$error, call. = FALSE)
  found
}

genoviz_open <- function(path, options = "") {
  found <- .genoviz_call("genoviz_r_open", path.expand(path), options,
                         handle = 0L, size = double(2))
  structure(list(handle = found$handle, n_samples = found$size[1], n_variants = found$size[2]),
            class = "genoviz")
}

.genoviz_product <- function(genotypes, x, is_transposed) {
  x <- as.matrix(x)
  n <- c(genotypes$n_variants, genotypes$n_samples)
  if (is_transposed) n <- rev(n)
  if (nrow(x) != n[1]) stop("x has ", nrow(x), " rows, needs ", n[1], call. = FALSE)
  found <- .genoviz_call("genoviz_r_multiply", genotypes$handle, as.integer(is_transposed),
                         as.double(x), ncol(x), y = double(n[2] * ncol(x)))
  matrix(found$y, n[2])
}

# Z x: x has a row for each variant.
genoviz_multiply <- function(genotypes, x) .genoviz_product(genotypes, x, FALSE)

# Z' x: x has a row for each sample.
genoviz_multiply_transposed <- function(genotypes, x) .genoviz_product(genotypes, x, TRUE)

# What genoviz_solve takes; NA is a missing phenotype.
genoviz_put <- function(genotypes, name, values) {
  values <- as.matrix(values)
  .genoviz_call("genoviz_r_put", genotypes$handle, name, as.double(values), dim(values))
  invisible(genotypes)
}

genoviz_solve <- function(genotypes, options = "") {
  .genoviz_call("genoviz_r_solve", genotypes$handle, options)
  invisible(genotypes)
}

genoviz_get <- function(genotypes, name) {
  n <- .genoviz_call("genoviz_r_get", genotypes$handle, name, double(0), n = 0)$n
  if (n == 0) return(double(0))
  .genoviz_call("genoviz_r_get", genotypes$handle, name, values = double(n), n = n)$values
}

genoviz_close <- function(genotypes) {
  invisible(.genoviz_call("genoviz_r_close", genotypes$handle))
}
