// The segment nearest to a point on one GPU; the contract is in this folder's __init__.py.
// One thread block searches one block of segments, unless its box is too far away. Distances are
// kept as the bits of their squares, which are in the order of the numbers.

typedef unsigned long long u64;

constexpr int BLOCK_SIZE = 1024;

__device__ __forceinline__ double box_square(const double* __restrict__ box, double x, double y) {
    const double x_off = fmax(0.0, fmax(box[0] - x, x - box[2]));
    const double y_off = fmax(0.0, fmax(box[1] - y, y - box[3]));
    return x_off * x_off + y_off * y_off;
}

__device__ __forceinline__ double segment_square(const double2* __restrict__ coordinates,
                                                 long long segment, double x, double y) {
    const double2 a = coordinates[2 * segment], b = coordinates[2 * segment + 1];
    const double dx = b.x - a.x, dy = b.y - a.y;
    const double length_square = dx * dx + dy * dy;
    double along = 0.0;
    if (length_square > 0)
        along = fmin(1.0, fmax(0.0, ((x - a.x) * dx + (y - a.y) * dy) / length_square));
    const double x_off = x - (a.x + along * dx), y_off = y - (a.y + along * dy);
    return isfinite(a.x + a.y + b.x + b.y) ? x_off * x_off + y_off * y_off : nan("");
}

// Call found(segment, square) for each segment that is at most as far as the best.
template <typename Found>
__device__ __forceinline__ void search_block(const double2* __restrict__ coordinates,
                                             long long n_segments, const double* __restrict__ boxes,
                                             double x, double y, const u64* best_square,
                                             const Found& found) {
    const double best = __longlong_as_double(*(const volatile u64*)best_square);
    if (!(box_square(boxes + 4ll * blockIdx.x, x, y) <= best)) return;
    const long long start = (long long)blockIdx.x * BLOCK_SIZE;
    const long long stop = min(start + BLOCK_SIZE, n_segments);
    for (long long segment = start + threadIdx.x; segment < stop; segment += blockDim.x) {
        const double square = segment_square(coordinates, segment, x, y);
        if (square <= best) found(segment, square);
    }
}

extern "C" __global__ void find_smallest_square(const double2* __restrict__ coordinates,
                                                long long n_segments,
                                                const double* __restrict__ boxes, double x,
                                                double y, u64* best_square) {
    search_block(coordinates, n_segments, boxes, x, y, best_square, [=](long long, double square) {
        atomicMin(best_square, (u64)__double_as_longlong(square));
    });
}

extern "C" __global__ void find_first_segment(const double2* __restrict__ coordinates,
                                              long long n_segments,
                                              const double* __restrict__ boxes, double x, double y,
                                              const u64* best_square, u64* best) {
    search_block(coordinates, n_segments, boxes, x, y, best_square,
                 [=](long long segment, double) { atomicMin(best, (u64)segment); });
}
