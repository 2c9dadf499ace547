/* Frames of 4K that lie all over guest physical memory, as in a system that has run for long: `scatter=SEED` on the command line.
 *
 * Half of memory is a pool, taken from the allocator in blocks of 1G. The pool's frames are handed out in a random order, once each. When all are
 * taken, the allocator's own order is left. Larger blocks always come from the allocator. */
#include "../common/bytes.h"
#include "../common/number.h"
#include "../vos/panic.h"
#include "wrapped.h"

#include <stddef.h>

enum { MOST_BLOCKS = 64, BLOCK_FRAMES_SHIFT = ORDER_1G };

static uint64_t blocks[MOST_BLOCKS];
static uint64_t pool_frames;
/* Frames of the pool that have been handed out. */
static uint64_t taken;
/* 0 unless frames are scattered. */
static uint64_t seed;
/* log2 of the least power of two that is not below `pool_frames`. */
static unsigned bits;

/* A permutation of the numbers of `bits` bits. Each step has an inverse. */
static uint64_t permuted(uint64_t number)
{
    uint64_t mask = ((uint64_t)1 << bits) - 1;

    for (unsigned round = 0; round < 3; round++) {
        number = (number + seed * 0x9e3779b97f4a7c15) & mask;
        number ^= number >> (bits / 2 + 1);
        number = (number * 0xd6e8feb86659fd93) & mask;
        number ^= number >> (bits / 2);
    }
    return number;
}

/* vos passes words that it does not know on to the program. */
void __wrap_options_parse(struct options *options, char *line)
{
    __real_options_parse(options, line);
    for (unsigned i = 0; i < options->argument_count; i++) {
        const char *value = string_after_prefix(options->arguments[i], "scatter=");

        if (value == NULL)
            continue;
        if (!number_parse(value, &seed) || seed == 0)
            panic("command line: scatter=%s: not a seed", value);
        options->argument_count--;
        for (; i < options->argument_count; i++)
            options->arguments[i] = options->arguments[i + 1];
        options->arguments[i] = NULL;
    }
}

void __wrap_frames_start(enum clear_policy policy)
{
    uint64_t half;

    __real_frames_start(policy);
    if (seed == 0)
        return;
    half = frames_free_bytes() / 2;
    while (frames_free_bytes() > half && pool_frames >> BLOCK_FRAMES_SHIFT < MOST_BLOCKS) {
        uint64_t block = __real_frames_take(ORDER_1G);

        if (block == FRAME_NONE)
            break;
        blocks[pool_frames >> BLOCK_FRAMES_SHIFT] = block;
        pool_frames += (uint64_t)1 << BLOCK_FRAMES_SHIFT;
    }
    if (pool_frames == 0)
        panic("command line: scatter=%lu: no free block of 1G to scatter frames in", seed);
    while ((uint64_t)1 << bits < pool_frames)
        bits++;
}

uint64_t __wrap_frames_take(unsigned order)
{
    if (order != ORDER_4K || pool_frames == 0)
        return __real_frames_take(order);
    while (__atomic_load_n(&taken, __ATOMIC_RELAXED) >> bits == 0) {
        uint64_t at = permuted(__atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED));

        /* The permutation is over a power of two, of which the pool may be a part. */
        if (at < pool_frames)
            return blocks[at >> BLOCK_FRAMES_SHIFT] +
                   (at & (((uint64_t)1 << BLOCK_FRAMES_SHIFT) - 1)) * PAGE_BYTES;
    }
    return __real_frames_take(order);
}
