/* What every workload shares: its options, its memory, random numbers, output, time and marks. */
#ifndef WORKLOADS_WORKLOAD_H
#define WORKLOADS_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../common/marker.h"

/* Exit statuses. */
enum outcome {
    OUTCOME_OK = 0,
    OUTCOME_FAILED = 1,
    OUTCOME_USAGE = 2,
};

/* Bits of struct workload's `takes`. */
enum option {
    OPTION_SIZE = 1,
    OPTION_ITERATIONS = 2,
    OPTION_UPDATES = 4,
    OPTION_SEED = 8,
    /* Every workload takes this one. */
    OPTION_PAGE = 16,
    OPTION_SPACES = 32,
    OPTION_FRAMES = 64,
    OPTION_COMMON = 128,
    OPTION_SECTION = 256,
    OPTION_ROLE = 512,
};

struct options {
    /* As given, or NULL: bytes for most workloads; each says what it means by it. */
    const char *size;
    /* 0 selects the workload's default. */
    uint64_t iterations;
    uint64_t updates;
    uint64_t seed;
    /* Of workload jobs; see there. */
    const char *spaces;
    uint64_t frames;
    uint64_t common;
    /* Memory that is shared with other machines, by name; NULL for the program's own. */
    const char *section;
    /* Of workload dataset; see there. */
    const char *role;
};

/* The size as a number, or `otherwise` when none was given. Ends the program with OUTCOME_USAGE when
 * it is not a number in [least, most]. */
uint64_t option_size(const struct options *options, uint64_t otherwise, uint64_t least,
                     uint64_t most);

/* One name of the multi-call program. */
struct workload {
    const char *name;
    const char *synopsis;
    /* The options it knows, from enum option; any other is an error of usage. */
    unsigned takes;
    enum outcome (*run)(const struct options *options);
};

extern const struct workload workload_gups;
extern const struct workload workload_bfs;
extern const struct workload workload_cg;
extern const struct workload workload_stream;
extern const struct workload workload_kv;
extern const struct workload workload_sieve;
extern const struct workload workload_triad;
extern const struct workload workload_triadp;
extern const struct workload workload_qsort;
extern const struct workload workload_mcf;
extern const struct workload workload_jobs;
extern const struct workload workload_dataset;
extern const struct workload workload_io;
extern const struct workload workload_remap;

/* Ends the program at once, after one line that says why. */
_Noreturn void fail(enum outcome outcome, const char *template, ...)
    __attribute__((format(printf, 2, 3)));

/* Output: see common/format.h for what a template may hold. Written when a line ends. */
void print(const char *template, ...) __attribute__((format(printf, 1, 2)));
/* `value` with `decimals` (0 to 15) digits after the point, rounded to nearest. */
void print_decimal(double value, unsigned decimals);

/* Page sizes that the workload asks Linux for; vos has its own option. */
enum memory_pages {
    /* Whatever the kernel chooses. */
    MEMORY_PAGES_ANY,
    MEMORY_PAGES_4K,
    MEMORY_PAGES_2M,
    MEMORY_PAGES_1G,
};

/* For all memory taken from now on. */
void memory_set_pages(enum memory_pages pages);

/* Zeroed memory, aligned to `alignment` (a power of two), never given back. Ends the program when
 * there is none. */
void *memory_take(size_t bytes, size_t alignment);

enum { ALIGN_CACHE_LINE = 64, ALIGN_PAGE = 4096 };

/* The timed part. The result of region_end is its nanoseconds, at least 1. */
static inline uint64_t region_begin(void);
static inline uint64_t region_end(uint64_t begin);

/* splitmix64: passes BigCrush, and any seed will do (Steele, Lea, Flood 2014). */
struct random {
    uint64_t state;
};

static inline uint64_t mix64(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

static inline uint64_t random_next(struct random *random)
{
    random->state += 0x9e3779b97f4a7c15;
    return mix64(random->state);
}

/* Uniform in [0, 1). */
static inline double random_unit(struct random *random)
{
    return (double)(random_next(random) >> 11) * 0x1p-53;
}

/* A permutation of the numbers below 2^bits (1 to 63), different for each seed. */
static inline uint64_t scramble(uint64_t value, unsigned bits, uint64_t seed)
{
    uint64_t mask = ((uint64_t)1 << bits) - 1;
    uint64_t offset = mix64(seed);

    value = (value * 0x9e3779b97f4a7c15 + offset) & mask;
    value ^= value >> (bits / 2 + 1);
    value = (value * 0xbf58476d1ce4e5b9 + (offset >> 32)) & mask;
    return value ^ value >> (bits / 2 + 1);
}

static inline bool is_power_of_two(uint64_t n)
{
    return n != 0 && (n & (n - 1)) == 0;
}

/* log2 of a power of two. */
static inline unsigned log2_of(uint64_t power)
{
    unsigned bits = 0;

    while (power >> bits > 1)
        bits++;
    return bits;
}

#include "linux.h"

static inline uint64_t region_begin(void)
{
    uint64_t now = linux_nanoseconds();

    PAGEWALK_ROI_BEGIN();
    return now;
}

static inline uint64_t region_end(uint64_t begin)
{
    uint64_t elapsed;

    PAGEWALK_ROI_END();
    elapsed = linux_nanoseconds() - begin;
    return elapsed == 0 ? 1 : elapsed;
}

#endif
