// Derivatives of logistic models; the contract is in this folder's __init__.

// A thread turns the logit of a variant and a sample into a residual and a weight, both 0 if the
// genotype is missing; grid-stride loop.
extern "C" __global__ void weigh(const double* __restrict__ all_dosages,
                                 const long long* __restrict__ rows,
                                 const double* __restrict__ phenotype,
                                 const double* __restrict__ slopes, long long n_rows,
                                 long long n_samples, double* __restrict__ dosages,
                                 double* __restrict__ residuals, double* __restrict__ weights) {
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < n_rows * n_samples;
         at += stride) {
        const long long row = at / n_samples;
        const long long sample = at - row * n_samples;
        const double dosage = all_dosages[rows[row] * n_samples + sample];
        const bool is_called = dosage == dosage;
        const double logit = is_called ? weights[at] + slopes[row] * dosage : 0.0;
        const double fitted = 1 / (1 + exp(-fmin(fmax(logit, -MAX_LOGIT), MAX_LOGIT)));
        dosages[at] = is_called ? dosage : 0.0;
        residuals[at] = is_called ? phenotype[sample] - fitted : 0.0;
        weights[at] = is_called ? fitted * (1 - fitted) : 0.0;
    }
}
