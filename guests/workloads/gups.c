/* HPC Challenge RandomAccess on one processor: read-modify-write of random words of a table.
 * The sequence, its 128 interleaved streams and the check are those of HPCC 1.5, core_single_cpu.c.
 *
 * size:    bytes of the table, a power of two
 * updates: default 4 for each word of the table
 * section: where the table is, if it is to be one that machines share; no other program may use it meanwhile
 * seed:    how far into the sequence the first stream starts */
#include "section.h"
#include "workload.h"

enum { STREAMS = 128 };

/* The sequence is x^i in GF(2)[x] modulo a primitive polynomial of degree 64: x^64 + x^2 + x + 1. */
#define POLYNOMIAL 7
/* After so many steps the sequence repeats. */
#define PERIOD 1317624576693539401

static inline uint64_t step(uint64_t value)
{
    return (value << 1) ^ ((uint64_t)((int64_t)value >> 63) & POLYNOMIAL);
}

/* The n-th number of the sequence, by repeated squaring (HPCC_starts). */
static uint64_t starts(int64_t n)
{
    uint64_t squares[64];
    uint64_t value = 1;
    int bit = 62;

    while (n < 0)
        n += PERIOD;
    while (n > PERIOD)
        n -= PERIOD;
    if (n == 0)
        return 1;
    for (int i = 0; i < 64; i++) {
        squares[i] = value;
        value = step(step(value));
    }
    while (((n >> bit) & 1) == 0)
        bit--;
    value = 2;
    while (bit > 0) {
        uint64_t square = 0;

        for (int i = 0; i < 64; i++)
            if ((value >> i) & 1)
                square ^= squares[i];
        value = square;
        bit--;
        if ((n >> bit) & 1)
            value = step(value);
    }
    return value;
}

/* Applies all updates; applied twice they cancel out. */
static void __attribute__((noinline)) update(uint64_t *table, uint64_t words, uint64_t updates,
                                             uint64_t seed)
{
    uint64_t streams[STREAMS];
    uint64_t rounds = updates / STREAMS;

    for (uint64_t i = 0; i < STREAMS; i++)
        streams[i] = starts((int64_t)(rounds * i + seed));
    for (uint64_t round = 0; round < rounds; round++)
        for (uint64_t i = 0; i < STREAMS; i++) {
            streams[i] = step(streams[i]);
            table[streams[i] & (words - 1)] ^= streams[i];
        }
}

static uint64_t *take_section(const char *name, uint64_t bytes)
{
    uint64_t there = 0;
    uint64_t *table = section_take(name, true, &there);

    if (there < bytes)
        fail(OUTCOME_USAGE, "gups: section %s: %lu bytes are less than size=%lu", name, there, bytes);
    return table;
}

static enum outcome run(const struct options *options)
{
    uint64_t bytes = option_size(options, 16 << 20, 4096, (uint64_t)1 << 40);
    uint64_t words = bytes / sizeof(uint64_t);
    uint64_t updates = options->updates != 0 ? options->updates : 4 * words;
    uint64_t seed = options->seed & 0xffffffff;
    uint64_t errors = 0;
    uint64_t *table;
    uint64_t elapsed;

    if (!is_power_of_two(bytes))
        fail(OUTCOME_USAGE, "gups: size=%lu: must be a power of two", bytes);
    if (updates < STREAMS)
        fail(OUTCOME_USAGE, "gups: updates=%lu: must be at least %d", updates, STREAMS);
    updates -= updates % STREAMS;
    table = options->section != NULL ? take_section(options->section, bytes)
                                     : memory_take(bytes, ALIGN_PAGE);
    for (uint64_t i = 0; i < words; i++)
        table[i] = i;

    elapsed = region_begin();
    update(table, words, updates, seed);
    elapsed = region_end(elapsed);

    update(table, words, updates, seed);
    for (uint64_t i = 0; i < words; i++)
        if (table[i] != i)
            errors++;
    if (errors != 0) {
        print("gups: FAILED %lu of %lu words wrong\n", errors, words);
        return OUTCOME_FAILED;
    }
    print("gups: ok table=%lu updates=%lu errors=0 ns=%lu gups=", bytes, updates, elapsed);
    print_decimal((double)updates / (double)elapsed, 6);
    print("\n");
    return OUTCOME_OK;
}

const struct workload workload_gups = {
    .name = "gups",
    .synopsis = "RandomAccess; size = bytes of the table, updates",
    .takes = OPTION_SIZE | OPTION_UPDATES | OPTION_SEED | OPTION_SECTION,
    .run = run,
};
