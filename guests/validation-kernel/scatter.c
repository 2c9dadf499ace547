/* Frames of 4K that lie all over guest physical memory, as in a system that has run for long: `scatter=SEED` on the command line.
 *
 * Half of memory is a pool, taken from the allocator in blocks of 1G. The pool's frames are handed out in a random order, once each. When all are
 * taken, the allocator's own order is left. Larger blocks always come from the allocator. */
#include "../common/bytes.h"
#include "../common/number.h"
#include "../vos/panic.h"
#include "wrapped.h"

#include <stdbool.h>
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

/* Takes `scatter=SEED` off the command line: vos would pass it on to the program. */
static void take_seed(char *line)
{
    static const char name[] = "scatter=";

    for (char *word = line; *word != '\0'; word++) {
        char *value = word == line || word[-1] == ' ' ? (char *)string_after_prefix(word, name) : NULL;
        char *end = value;
        char after;

        if (value == NULL)
            continue;
        while (*end != '\0' && *end != ' ')
            end++;
        after = *end;
        *end = '\0';
        if (!number_parse(value, &seed) || seed == 0)
            panic("command line: %s: not a seed", word);
        *end = after;
        memset(word, ' ', (uint64_t)(end - word));
        return;
    }
}

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

void __wrap_options_parse(struct options *options, char *line)
{
    take_seed(line);
    __real_options_parse(options, line);
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
    while ((uint64_t)1 << bits < pool_frames)
        bits++;
}

uint64_t __wrap_frames_take(unsigned order)
{
    while (order == ORDER_4K && __atomic_load_n(&taken, __ATOMIC_RELAXED) >> bits == 0 && pool_frames != 0) {
        uint64_t at = permuted(__atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED));
        uint64_t frame;

        /* The permutation is over a power of two. */
        if (at >= pool_frames)
            continue;
        frame = blocks[at >> BLOCK_FRAMES_SHIFT];
        return frame + (at & (((uint64_t)1 << BLOCK_FRAMES_SHIFT) - 1)) * PAGE_BYTES;
    }
    return __real_frames_take(order);
}
