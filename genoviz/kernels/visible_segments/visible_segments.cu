// The segments that touch boxes on one GPU; the contract is in this folder's __init__.py.
// One thread block tests one block of segments, unless its box is outside all views.

constexpr int BLOCK_SIZE = 1024;

struct Box {
    double x_min, y_min, x_max, y_max;

    __device__ bool meets(const Box& other) const {
        return x_min <= other.x_max && x_max >= other.x_min && y_min <= other.y_max &&
               y_max >= other.y_min;
    }

    __device__ bool holds(const double2& point) const {
        return x_min <= point.x && point.x <= x_max && y_min <= point.y && point.y <= y_max;
    }
};

__device__ __forceinline__ bool touches(const double2& a, const double2& b, const Box& view) {
    const Box around = {fmin(a.x, b.x), fmin(a.y, b.y), fmax(a.x, b.x), fmax(a.y, b.y)};
    if (!around.meets(view)) return false;
    if (view.holds(a) || view.holds(b)) return true;
    const double dx = b.x - a.x, dy = b.y - a.y;
    const double low_x = dy * (view.x_min - a.x), high_x = dy * (view.x_max - a.x);
    const double low_y = dx * (view.y_min - a.y), high_y = dx * (view.y_max - a.y);
    return fmin(low_x, high_x) <= fmax(low_y, high_y) && fmin(low_y, high_y) <= fmax(low_x, high_x);
}

extern "C" __global__ void find_visible(const double2* __restrict__ coordinates,
                                        long long n_segments, const Box* __restrict__ boxes,
                                        const Box* __restrict__ views, int n_views,
                                        bool* __restrict__ visible) {
    const Box box = boxes[blockIdx.x];
    int first = n_views, last = -1;
    for (int view = 0; view < n_views; view++) {
        if (!box.meets(views[view])) continue;
        first = min(first, view);
        last = view;
    }
    const long long start = (long long)blockIdx.x * BLOCK_SIZE;
    const long long stop = min(start + BLOCK_SIZE, n_segments);
    for (long long segment = start + threadIdx.x; segment < stop && first <= last;
         segment += blockDim.x) {
        const double2 a = coordinates[2 * segment], b = coordinates[2 * segment + 1];
        if (!isfinite(a.x + a.y + b.x + b.y)) continue;
        for (int view = first; view <= last; view++)
            if (touches(a, b, views[view])) visible[segment] = true;
    }
}
