/* McCalpin's STREAM 5.10: copy, scale, add, triad over three arrays, with a stricter check of the
 * result.
 *
 * size:       bytes of each array
 * iterations: rounds, STREAM's NTIMES */
#include "workload.h"

#include "real.h"

enum { DEFAULT_BYTES = 8 << 20, DEFAULT_ROUNDS = 10 };

static const double SCALAR = 3.0;
static const double EPSILON = 1e-13;

enum kernel { COPY, SCALE, ADD, TRIAD, KERNELS };

static const char *const kernel_names[KERNELS] = {"copy", "scale", "add", "triad"};
/* Arrays that a kernel reads or writes. */
static const unsigned arrays_moved[KERNELS] = {2, 2, 3, 3};

struct arrays {
    double *restrict a;
    double *restrict b;
    double *restrict c;
    uint64_t count;
};

static void __attribute__((noinline)) run_kernel(enum kernel kernel, const struct arrays *arrays)
{
    double *restrict a = arrays->a;
    double *restrict b = arrays->b;
    double *restrict c = arrays->c;
    uint64_t n = arrays->count;

    switch (kernel) {
    case COPY:
        for (uint64_t i = 0; i < n; i++)
            c[i] = a[i];
        break;
    case SCALE:
        for (uint64_t i = 0; i < n; i++)
            b[i] = SCALAR * c[i];
        break;
    case ADD:
        for (uint64_t i = 0; i < n; i++)
            c[i] = a[i] + b[i];
        break;
    case TRIAD:
        for (uint64_t i = 0; i < n; i++)
            a[i] = b[i] + SCALAR * c[i];
        break;
    case KERNELS:
        break;
    }
}

/* Is each element as expected? STREAM itself looks at the mean only, which hides a single error. */
static bool all_near(const double *x, uint64_t count, double expected)
{
    for (uint64_t i = 0; i < count; i++)
        if (!(real_abs(x[i] - expected) <= EPSILON * expected))
            return false;
    return true;
}

static bool check(const struct arrays *arrays, uint64_t rounds)
{
    double a = 1;
    double b = 2;
    double c = 0;

    for (uint64_t i = 0; i < rounds; i++) {
        c = a;
        b = SCALAR * c;
        c = a + b;
        a = b + SCALAR * c;
    }
    return all_near(arrays->a, arrays->count, a) && all_near(arrays->b, arrays->count, b) &&
           all_near(arrays->c, arrays->count, c);
}

static enum outcome run(const struct options *options)
{
    uint64_t bytes = option_size(options, DEFAULT_BYTES, sizeof(double), (uint64_t)1 << 40);
    uint64_t rounds = options->iterations != 0 ? options->iterations : DEFAULT_ROUNDS;
    struct arrays arrays = {
        .a = memory_take(bytes, ALIGN_PAGE),
        .b = memory_take(bytes, ALIGN_PAGE),
        .c = memory_take(bytes, ALIGN_PAGE),
        .count = bytes / sizeof(double),
    };
    uint64_t best[KERNELS] = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
    uint64_t elapsed;

    /* Values grow by a factor of 15 in each round. */
    if (rounds > 200)
        fail(OUTCOME_USAGE, "stream: iterations=%lu: must be at most 200", rounds);
    for (uint64_t i = 0; i < arrays.count; i++) {
        arrays.a[i] = 1;
        arrays.b[i] = 2;
        arrays.c[i] = 0;
    }

    elapsed = region_begin();
    for (uint64_t round = 0; round < rounds; round++)
        for (enum kernel kernel = 0; kernel < KERNELS; kernel++) {
            uint64_t time = linux_nanoseconds();

            run_kernel(kernel, &arrays);
            time = linux_nanoseconds() - time;
            if (time < best[kernel])
                best[kernel] = time;
        }
    elapsed = region_end(elapsed);

    if (!check(&arrays, rounds)) {
        print("stream: FAILED wrong result\n");
        return OUTCOME_FAILED;
    }
    print("stream: ok array=%lu iterations=%lu ns=%lu", bytes, rounds, elapsed);
    for (enum kernel kernel = 0; kernel < KERNELS; kernel++) {
        print(" %s_mb_s=", kernel_names[kernel]);
        print_decimal((double)(arrays_moved[kernel] * bytes) * 1000 /
                          (double)(best[kernel] != 0 ? best[kernel] : 1), 1);
    }
    print("\n");
    return OUTCOME_OK;
}

const struct workload workload_stream = {
    .name = "stream",
    .synopsis = "STREAM; size = bytes of each array, iterations",
    .takes = OPTION_SIZE | OPTION_ITERATIONS,
    .run = run,
};
