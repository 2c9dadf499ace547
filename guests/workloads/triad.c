/* STREAM's triad alone, a = b + s c, with arrays exactly aligned to one another (triad: the three
 * accesses of a round fall into one set of every cache and TLB) or staggered (triadp).
 *
 * size:       bytes of each array
 * iterations: rounds */
#include "workload.h"

enum { DEFAULT_BYTES = 64 << 20, DEFAULT_ROUNDS = 2 };
/* Pages and lines by which triadp moves each array on: both odd, so that no sets coincide. */
enum { STAGGER = 37 * ALIGN_PAGE + 3 * ALIGN_CACHE_LINE };

static void __attribute__((noinline)) triad(double *restrict a, const double *restrict b,
                                            const double *restrict c, double s, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        a[i] = b[i] + s * c[i];
}

static uint64_t power_of_two_from(uint64_t n)
{
    uint64_t power = ALIGN_PAGE;

    while (power < n)
        power *= 2;
    return power;
}

static enum outcome run_with(const char *name, uint64_t stagger, const struct options *options)
{
    const double s = 3;
    uint64_t bytes = option_size(options, DEFAULT_BYTES, sizeof(double), (uint64_t)1 << 40);
    uint64_t rounds = options->iterations != 0 ? options->iterations : DEFAULT_ROUNDS;
    uint64_t n = bytes / sizeof(double);
    uint64_t distance = power_of_two_from(bytes);
    uint8_t *memory = memory_take(3 * (distance + stagger), distance);
    double *a = (double *)memory;
    double *b = (double *)(memory + distance + stagger);
    double *c = (double *)(memory + 2 * (distance + stagger));
    uint64_t errors = 0;
    uint64_t elapsed;

    for (uint64_t i = 0; i < n; i++) {
        a[i] = 0;
        b[i] = 1;
        c[i] = (double)i;
    }

    elapsed = region_begin();
    for (uint64_t round = 0; round < rounds; round++)
        triad(a, b, c, s + (double)round, n);
    elapsed = region_end(elapsed);

    for (uint64_t i = 0; i < n; i++)
        if (a[i] != 1 + (s + (double)(rounds - 1)) * (double)i)
            errors++;
    if (errors != 0) {
        print("%s: FAILED %lu of %lu elements wrong\n", name, errors, n);
        return OUTCOME_FAILED;
    }
    print("%s: ok array=%lu iterations=%lu ns=%lu mb_s=", name, bytes, rounds, elapsed);
    print_decimal((double)(3 * bytes * rounds) * 1000 / (double)elapsed, 1);
    print("\n");
    return OUTCOME_OK;
}

static enum outcome run_aligned(const struct options *options)
{
    return run_with("triad", 0, options);
}

static enum outcome run_staggered(const struct options *options)
{
    return run_with("triadp", STAGGER, options);
}

const struct workload workload_triad = {
    .name = "triad",
    .synopsis = "a = b + s c, arrays aligned to one another; size = bytes of each, iterations",
    .takes = OPTION_SIZE | OPTION_ITERATIONS,
    .run = run_aligned,
};

const struct workload workload_triadp = {
    .name = "triadp",
    .synopsis = "the same, arrays staggered",
    .takes = OPTION_SIZE | OPTION_ITERATIONS,
    .run = run_staggered,
};
