// The segment nearest to a point on one GPU; the contract is in this folder's __init__.py.
// One thread block searches one block of segments, unless its box is too far away. Distances are
// compared as the bits of their squares, which have the order of the values.

typedef unsigned long long u64;

constexpr int BLOCK_SIZE = 1024;

struct Aim {
    double x, y, max_distance, x_scale, y_scale, x_low, x_high;
};

__device__ __forceinline__ double infinity() {
    return __longlong_as_double(0x7FF0000000000000ll);
}

// Squared distance of a point and a box's part; inf if there is none.
__device__ __forceinline__ double box_square(const double* __restrict__ box, const Aim& aim) {
    const double x_min = fmax(box[0], aim.x_low), x_max = fmin(box[2], aim.x_high);
    if (!(x_min <= x_max)) return infinity();
    const double x_off = fmax(0.0, fmax(x_min - aim.x, aim.x - x_max)) * aim.x_scale;
    const double y_off = fmax(0.0, fmax(box[1] - aim.y, aim.y - box[3])) * aim.y_scale;
    return x_off * x_off + y_off * y_off;
}

// Squared distance of a point and a segment's part; NaN if there is none.
__device__ __forceinline__ double segment_square(const double2* __restrict__ coordinates,
                                                 long long segment, const Aim& aim) {
    const double2 a = coordinates[2 * segment], b = coordinates[2 * segment + 1];
    if (!isfinite(a.x + a.y + b.x + b.y)) return nan("");
    double first = 0.0, last = 1.0;
    const double way = b.x - a.x;
    if (way != 0) {
        const double to_low = (aim.x_low - a.x) / way, to_high = (aim.x_high - a.x) / way;
        first = fmax(0.0, fmin(to_low, to_high));
        last = fmin(1.0, fmax(to_low, to_high));
        if (first > last) return nan("");
    } else if (!(aim.x_low <= a.x && a.x <= aim.x_high)) {
        return nan("");
    }
    const double dx = way * aim.x_scale, dy = (b.y - a.y) * aim.y_scale;
    const double x_from = (aim.x - a.x) * aim.x_scale, y_from = (aim.y - a.y) * aim.y_scale;
    const double length_square = dx * dx + dy * dy;
    double along = first;
    if (length_square > 0)
        along = fmin(last, fmax(first, (x_from * dx + y_from * dy) / length_square));
    const double x_off = x_from - along * dx, y_off = y_from - along * dy;
    return x_off * x_off + y_off * y_off;
}

// Call found(segment, square) for each segment at most as far as the best.
template <typename Found>
__device__ __forceinline__ void search_block(const double2* __restrict__ coordinates,
                                             long long n_segments, const double* __restrict__ boxes,
                                             const Aim& aim, const u64* best_square,
                                             const Found& found) {
    const double best = __longlong_as_double(*(const volatile u64*)best_square);
    const double nearest = box_square(boxes + 4ll * blockIdx.x, aim);
    if (!(nearest <= best) || nearest == infinity()) return;
    const long long start = (long long)blockIdx.x * BLOCK_SIZE;
    const long long stop = min(start + BLOCK_SIZE, n_segments);
    for (long long segment = start + threadIdx.x; segment < stop; segment += blockDim.x) {
        const double square = segment_square(coordinates, segment, aim);
        if (square <= best) found(segment, square);
    }
}

extern "C" __global__ void find_smallest_square(const double2* __restrict__ coordinates,
                                                long long n_segments,
                                                const double* __restrict__ boxes,
                                                const Aim* __restrict__ aim, u64* best_square) {
    search_block(coordinates, n_segments, boxes, *aim, best_square, [=](long long, double square) {
        atomicMin(best_square, (u64)__double_as_longlong(square));
    });
}

extern "C" __global__ void find_first_segment(const double2* __restrict__ coordinates,
                                              long long n_segments,
                                              const double* __restrict__ boxes,
                                              const Aim* __restrict__ aim, const u64* best_square,
                                              u64* best) {
    search_block(coordinates, n_segments, boxes, *aim, best_square,
                 [=](long long segment, double) { atomicMin(best, (u64)segment); });
}
