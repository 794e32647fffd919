// Decode packed genotypes to a dense block; the contract is in this folder's __init__.

// A thread decodes one byte of genotypes, in a grid-stride loop over all bytes.
extern "C" __global__ void decode(const unsigned char* __restrict__ packed,
                                  const VALUE* __restrict__ values, long long n_variants,
                                  long long n_samples, VALUE* __restrict__ out) {
    const long long n_bytes = (n_samples + 3) / 4;
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < n_variants * n_bytes;
         at += stride) {
        const long long variant = at / n_bytes;
        const long long first = 4 * (at - variant * n_bytes);
        const int genotypes = packed[at];
        for (int place = 0; place < 4 && first + place < n_samples; ++place) {
            const int code = genotypes >> 2 * place & 3;
            out[variant * n_samples + first + place] = values[4 * variant + code];
        }
    }
}
