// Palette indices of an image on one GPU; the contract is in this folder's __init__.py.

typedef unsigned int u32;
typedef unsigned char u8;

constexpr int MAX_LEVELS = 255;

__device__ __forceinline__ long long thread_number() {
    return (long long)blockIdx.x * blockDim.x + threadIdx.x;
}

__device__ __forceinline__ long long n_threads() {
    return (long long)gridDim.x * blockDim.x;
}

// range: smallest, largest, number of pixels.
extern "C" __global__ void find_range(const u32* __restrict__ image, long long n_pixels, u32 lowest,
                                      u32* __restrict__ range) {
    __shared__ u32 smallest, largest, n_used;
    if (threadIdx.x == 0) {
        smallest = 0xFFFFFFFFu;
        largest = 0;
        n_used = 0;
    }
    __syncthreads();
    u32 my_smallest = 0xFFFFFFFFu, my_largest = 0, my_n = 0;
    for (long long i = thread_number(); i < n_pixels; i += n_threads()) {
        const u32 number = image[i];
        if (number >= lowest) {
            my_smallest = min(my_smallest, number);
            my_largest = max(my_largest, number);
            my_n++;
        }
    }
    if (my_n > 0) {
        atomicMin(&smallest, my_smallest);
        atomicMax(&largest, my_largest);
        atomicAdd(&n_used, my_n);
    }
    __syncthreads();
    if (threadIdx.x == 0 && n_used > 0) {
        atomicMin(&range[0], smallest);
        atomicMax(&range[1], largest);
        atomicAdd(&range[2], n_used);
    }
}

extern "C" __global__ void apply_levels(const u32* __restrict__ image, long long n_pixels,
                                        const u32* __restrict__ levels, int n_levels,
                                        u8* __restrict__ indices) {
    __shared__ u32 limits[MAX_LEVELS];
    for (int level = threadIdx.x; level < n_levels; level += blockDim.x)
        limits[level] = levels[level];
    __syncthreads();
    for (long long i = thread_number(); i < n_pixels; i += n_threads()) {
        const u32 number = image[i];
        int low = 0, high = n_levels;
        while (low < high) {
            const int middle = (low + high) / 2;
            if (limits[middle] <= number)
                low = middle + 1;
            else
                high = middle;
        }
        indices[i] = (u8)low;
    }
}

// disc: rows of (dy, first dx, last dx).
extern "C" __global__ void spread(const u8* __restrict__ indices, int width, int height,
                                  const int* __restrict__ disc, int n_rows,
                                  u8* __restrict__ result) {
    for (long long i = thread_number(); i < (long long)width * height; i += n_threads()) {
        const int x = (int)(i % width), y = (int)(i / width);
        u8 largest = 0;
        for (int k = 0; k < n_rows; k++) {
            const int source_y = y - disc[3 * k];
            if (source_y < 0 || source_y >= height) continue;
            for (int dx = disc[3 * k + 1]; dx <= disc[3 * k + 2]; dx++) {
                const int source_x = x - dx;
                if (source_x >= 0 && source_x < width)
                    largest = max(largest, indices[(long long)source_y * width + source_x]);
            }
        }
        result[i] = largest;
    }
}

// disc: rows of (dy, first dx, last dx).
extern "C" __global__ void stamp(const u32* __restrict__ image, int width, int height,
                                 const int* __restrict__ disc, int n_rows, u8 index,
                                 u8* __restrict__ indices) {
    for (long long i = thread_number(); i < (long long)width * height; i += n_threads()) {
        if (image[i] == 0) continue;
        const int x = (int)(i % width), y = (int)(i / width);
        for (int k = 0; k < n_rows; k++) {
            const int to_y = y + disc[3 * k];
            if (to_y < 0 || to_y >= height) continue;
            for (int to_x = max(0, x + disc[3 * k + 1]);
                 to_x <= min(width - 1, x + disc[3 * k + 2]); to_x++)
                indices[(long long)to_y * width + to_x] = index;
        }
    }
}
