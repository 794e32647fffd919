// Draw segments on a pixel grid on one GPU; the contract is in this folder's __init__.py.
// One thread block draws one block of segments on one grid. Compile without fused multiply-add, so
// that pixels equal those of the CPU.

typedef unsigned long long u64;
typedef unsigned int u32;

constexpr int BLOCK_SIZE = 1024;
constexpr int WARP = 32;
constexpr u32 ALL_LANES = 0xFFFFFFFFu;
constexpr u32 KEY_EMPTY = 0;
constexpr u32 KEY_MISSING = 1;

struct Grid {
    double x_scale, x_shift, y_scale, y_shift, x_min, x_max, y_min, y_max;
    double width_, height_, x_end_, y_end_, x_origin, y_origin;
    double first_pixel_, pitch_;

    __device__ int width() const { return (int)width_; }
    __device__ int height() const { return (int)height_; }
    __device__ long long x_end() const { return (long long)x_end_; }
    __device__ long long y_end() const { return (long long)y_end_; }
    __device__ int first_pixel() const { return (int)first_pixel_; }
    __device__ int pitch() const { return (int)pitch_; }
};

struct Segment {
    double x0, y0, x1, y1;

    __device__ bool is_finite() const { return isfinite(x0 + y0 + x1 + y1); }
};

struct Line {
    int column0, row0, column1, row1;
};

struct Box {
    double x_min, y_min, x_max, y_max;

    __device__ Box from(const Grid& grid) const {
        return {x_min - grid.x_origin, y_min - grid.y_origin, x_max - grid.x_origin,
                y_max - grid.y_origin};
    }

    __device__ bool is_visible(const Grid& grid) const {
        return x_min <= grid.x_max && x_max >= grid.x_min && y_min <= grid.y_max &&
               y_max >= grid.y_min;
    }

    __device__ bool is_inside(const Grid& grid) const {
        return x_min >= grid.x_min && x_max <= grid.x_max && y_min >= grid.y_min &&
               y_max <= grid.y_max;
    }
};

__device__ __forceinline__ Segment load(const double2* __restrict__ coordinates,
                                        long long segment) {
    const double2 a = coordinates[2 * segment], b = coordinates[2 * segment + 1];
    return {a.x, a.y, b.x, b.y};
}

// A segment relative to the grid's origin.
__device__ __forceinline__ Segment load(const double2* __restrict__ coordinates, long long segment,
                                        const Grid& grid) {
    const Segment s = load(coordinates, segment);
    return {s.x0 - grid.x_origin, s.y0 - grid.y_origin, s.x1 - grid.x_origin, s.y1 - grid.y_origin};
}

__device__ __forceinline__ bool clip_side(double p, double q, double& t0, double& t1) {
    if (p < 0 && q < 0) {
        const double r = q / p;
        if (r > t1) return false;
        t0 = fmax(t0, r);
        return true;
    }
    if (p > 0 && q < p) {
        const double r = q / p;
        if (r < t0) return false;
        t1 = fmin(t1, r);
        return true;
    }
    return q >= 0;
}

// Clip a segment to the view (Liang-Barsky); false if nothing is left.
__device__ __forceinline__ bool clip(const Grid& grid, Segment& s) {
    if (grid.x_min <= s.x0 && s.x0 <= grid.x_max && grid.x_min <= s.x1 && s.x1 <= grid.x_max &&
        grid.y_min <= s.y0 && s.y0 <= grid.y_max && grid.y_min <= s.y1 && s.y1 <= grid.y_max)
        return true;
    if ((s.x0 < grid.x_min && s.x1 < grid.x_min) || (s.x0 > grid.x_max && s.x1 > grid.x_max) ||
        (s.y0 < grid.y_min && s.y1 < grid.y_min) || (s.y0 > grid.y_max && s.y1 > grid.y_max) ||
        !s.is_finite())
        return false;
    const double dx = s.x1 - s.x0, dy = s.y1 - s.y0;
    double t0 = 0.0, t1 = 1.0;
    if (!clip_side(-dx, s.x0 - grid.x_min, t0, t1)) return false;
    if (!clip_side(dx, grid.x_max - s.x0, t0, t1)) return false;
    if (!clip_side(-dy, s.y0 - grid.y_min, t0, t1)) return false;
    if (!clip_side(dy, grid.y_max - s.y0, t0, t1)) return false;
    if (t1 < 1) {
        s.x1 = s.x0 + t1 * dx;
        s.y1 = s.y0 + t1 * dy;
    }
    if (t0 > 0) {
        s.x0 = s.x0 + t0 * dx;
        s.y0 = s.y0 + t0 * dy;
    }
    return true;
}

// The pixel of a coordinate; the upper bound belongs to the last pixel.
__device__ __forceinline__ int to_pixel(double place, long long end, int size) {
    long long pixel = (long long)place;
    if (pixel == end) pixel--;
    return (int)max(0ll, min(pixel, (long long)size - 1));
}

__device__ __forceinline__ Line to_line(const Grid& grid, const Segment& s) {
    return {to_pixel(s.x0 * grid.x_scale + grid.x_shift, grid.x_end(), grid.width()),
            to_pixel(s.y0 * grid.y_scale + grid.y_shift, grid.y_end(), grid.height()),
            to_pixel(s.x1 * grid.x_scale + grid.x_shift, grid.x_end(), grid.width()),
            to_pixel(s.y1 * grid.y_scale + grid.y_shift, grid.y_end(), grid.height())};
}

// Draw every pixel of a line after the first, as Datashader does (Bresenham).
template <typename Brush>
__device__ __forceinline__ void draw_line(const Line& line, int pitch, int segment_pixel,
                                          const Brush& touch) {
    const int dx = line.column1 - line.column0, dy = line.row1 - line.row0;
    const int step_x = dx > 0 ? 1 : -1, step_y = dy > 0 ? pitch : -pitch;
    const bool is_flat = abs(dx) >= abs(dy);
    const int far = is_flat ? abs(dx) : abs(dy), near = is_flat ? abs(dy) : abs(dx);
    const int step_far = is_flat ? step_x : step_y, step_near = is_flat ? step_y : step_x;
    const long long lowest = step_far > 0 ? 0 : 1;
    long long error = 2 * (2ll * near - far);
    int pixel = segment_pixel;
    for (int k = 0; k < far; k++) {
        if (error >= lowest) {
            error -= 4ll * far;
            pixel += step_near;
        }
        error += 4ll * near;
        pixel += step_far;
        touch(pixel);
    }
}

// A brush draws the first pixels of a warp together, and the other pixels lane by lane.
struct CountBrush {
    u32* image;

    __device__ void first(int pixel) const {
        const u32 peers = __match_any_sync(ALL_LANES, pixel);
        const int lane = threadIdx.x % WARP;
        if (pixel >= 0 && lane == __ffs(peers) - 1) atomicAdd(&image[pixel], __popc(peers));
    }

    __device__ void operator()(int pixel) const { atomicAdd(&image[pixel], 1u); }
};

struct MaxBrush {
    u32* image;
    u32 key;

    __device__ void first(int pixel) const {
        if (pixel >= 0) (*this)(pixel);
    }

    __device__ void operator()(int pixel) const {
        if (*(volatile u32*)&image[pixel] < key) atomicMax(&image[pixel], key);
    }
};

struct SumBrush {
    double* sums;
    u32* counts;
    float value;

    __device__ void first(int pixel) const {
        const u32 peers = __match_any_sync(ALL_LANES, pixel);
        const bool has_no_gap = __all_sync(ALL_LANES, !isnan(value));
        if (peers != ALL_LANES || !has_no_gap) {
            if (pixel >= 0) (*this)(pixel);
        } else if (pixel >= 0) {
            double sum = value;
            for (int lanes = WARP / 2; lanes > 0; lanes /= 2)
                sum += __shfl_down_sync(ALL_LANES, sum, lanes);
            if (threadIdx.x % WARP == 0) {
                atomicAdd(&sums[pixel], sum);
                atomicAdd(&counts[2 * (long long)pixel], (u32)WARP);
            }
        }
    }

    __device__ void operator()(int pixel) const {
        if (isnan(value)) {
            atomicAdd(&counts[2 * (long long)pixel + 1], 1u);
        } else {
            atomicAdd(&sums[pixel], (double)value);
            atomicAdd(&counts[2 * (long long)pixel], 1u);
        }
    }
};

// Draw the segments of this thread block; make_brush gives the brush of a segment, or of -1.
template <typename MakeBrush>
__device__ __forceinline__ void draw_block(const double2* __restrict__ coordinates,
                                           long long n_segments, const Box* __restrict__ boxes,
                                           const Grid& grid, long long stride,
                                           const MakeBrush& make_brush) {
    const Box box = boxes[blockIdx.x].from(grid);
    if (!box.is_visible(grid)) return;
    const bool is_inside = box.is_inside(grid);
    const long long start = (long long)blockIdx.x * BLOCK_SIZE;
    const long long stop = min(start + BLOCK_SIZE, n_segments);
    const long long first = (start + stride - 1) / stride * stride;
    for (long long warp = first + threadIdx.x / WARP * WARP * stride; warp < stop;
         warp += blockDim.x * stride) {
        const long long segment = warp + threadIdx.x % WARP * stride;
        Line line;
        int pixel = -1;
        if (segment < stop) {
            Segment s = load(coordinates, segment, grid);
            if (s.is_finite() && (is_inside || clip(grid, s))) {
                line = to_line(grid, s);
                pixel = grid.first_pixel() + line.row0 * grid.pitch() + line.column0;
            }
        }
        const auto brush = make_brush(pixel >= 0 ? segment : -1);
        brush.first(pixel);
        if (pixel >= 0) draw_line(line, grid.pitch(), pixel, brush);
    }
}

extern "C" __global__ void draw_counts(const double2* __restrict__ coordinates,
                                       long long n_segments, const Box* __restrict__ boxes,
                                       const Grid* __restrict__ grids, long long stride,
                                       u32* __restrict__ image) {
    draw_block(coordinates, n_segments, boxes, grids[blockIdx.y], stride,
               [=](long long) { return CountBrush{image}; });
}

extern "C" __global__ void draw_largest(const double2* __restrict__ coordinates,
                                        long long n_segments, const Box* __restrict__ boxes,
                                        const Grid* __restrict__ grids, long long stride,
                                        const u32* __restrict__ keys, u32* __restrict__ image) {
    draw_block(coordinates, n_segments, boxes, grids[blockIdx.y], stride, [=](long long segment) {
        return MaxBrush{image, segment < 0 ? KEY_EMPTY : keys[segment]};
    });
}

extern "C" __global__ void draw_sums(const double2* __restrict__ coordinates, long long n_segments,
                                     const Box* __restrict__ boxes, const Grid* __restrict__ grids,
                                     long long stride, const float* __restrict__ values,
                                     double* __restrict__ sums, u32* __restrict__ counts) {
    draw_block(coordinates, n_segments, boxes, grids[blockIdx.y], stride, [=](long long segment) {
        return SumBrush{sums, counts, segment < 0 ? 0.0f : values[segment]};
    });
}

extern "C" __global__ void find_mean_keys(const double* __restrict__ sums,
                                          const u32* __restrict__ counts, long long n_pixels,
                                          u32* __restrict__ keys) {
    const long long pixel = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (pixel >= n_pixels) return;
    if (counts[2 * pixel] == 0) {
        keys[pixel] = counts[2 * pixel + 1] == 0 ? KEY_EMPTY : KEY_MISSING;
        return;
    }
    const float mean = (float)(sums[pixel] / counts[2 * pixel]);
    const u32 bits = __float_as_uint(mean);
    keys[pixel] = isnan(mean) ? KEY_MISSING : bits >> 31 ? ~bits : bits | 0x80000000u;
}

extern "C" __global__ void find_boxes(const double2* __restrict__ coordinates, long long n_segments,
                                      long long first, long long step, Box* __restrict__ boxes) {
    __shared__ Box warp_boxes[BLOCK_SIZE / WARP];
    const long long block = first + blockIdx.x * step;
    const long long start = block * BLOCK_SIZE;
    const long long stop = min(start + BLOCK_SIZE, n_segments);
    const double infinite = __longlong_as_double(0x7FF0000000000000ll);
    Box box = {infinite, infinite, -infinite, -infinite};
    for (long long segment = start + threadIdx.x; segment < stop; segment += blockDim.x) {
        const Segment s = load(coordinates, segment);
        if (s.is_finite())
            box = {fmin(box.x_min, fmin(s.x0, s.x1)), fmin(box.y_min, fmin(s.y0, s.y1)),
                   fmax(box.x_max, fmax(s.x0, s.x1)), fmax(box.y_max, fmax(s.y0, s.y1))};
    }
    for (int lanes = WARP / 2; lanes > 0; lanes /= 2) {
        box.x_min = fmin(box.x_min, __shfl_xor_sync(ALL_LANES, box.x_min, lanes));
        box.y_min = fmin(box.y_min, __shfl_xor_sync(ALL_LANES, box.y_min, lanes));
        box.x_max = fmax(box.x_max, __shfl_xor_sync(ALL_LANES, box.x_max, lanes));
        box.y_max = fmax(box.y_max, __shfl_xor_sync(ALL_LANES, box.y_max, lanes));
    }
    if (threadIdx.x % WARP == 0) warp_boxes[threadIdx.x / WARP] = box;
    __syncthreads();
    if (threadIdx.x != 0) return;
    for (int warp = 1; warp < (int)blockDim.x / WARP; warp++) {
        box.x_min = fmin(box.x_min, warp_boxes[warp].x_min);
        box.y_min = fmin(box.y_min, warp_boxes[warp].y_min);
        box.x_max = fmax(box.x_max, warp_boxes[warp].x_max);
        box.y_max = fmax(box.y_max, warp_boxes[warp].y_max);
    }
    boxes[block] = box;
}

extern "C" __global__ void count_line_pixels(const double2* __restrict__ coordinates,
                                             long long n_segments, const Grid* __restrict__ grids,
                                             long long step, u64* __restrict__ n_pixels) {
    const long long sample = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    const long long segment = step / 2 + sample * step;
    if (segment >= n_segments) return;
    const Grid grid = grids[blockIdx.y];
    Segment s = load(coordinates, segment, grid);
    if (!s.is_finite() || !clip(grid, s)) return;
    const Line line = to_line(grid, s);
    const int far = max(abs(line.column1 - line.column0), abs(line.row1 - line.row0));
    atomicAdd(n_pixels, (u64)(far + 1));
}
