/* Walks of a linked list in random order, which fits into the first-level cache.
 *
 * size:       nodes, a power of two
 * iterations: walks */
#include "../workloads/workload.h"

enum { DEFAULT_NODES = 512, DEFAULT_ITERATIONS = 100000 };

struct node {
    struct node *next;
    uint64_t value;
};

static uint64_t __attribute__((noinline)) sum_of(const struct node *node)
{
    uint64_t sum = 0;

    for (; node != NULL; node = node->next)
        sum += node->value;
    return sum;
}

static enum outcome run(const struct options *options)
{
    uint64_t count = option_size(options, DEFAULT_NODES, 2, (uint64_t)1 << 24);
    uint64_t iterations = options->iterations != 0 ? options->iterations : DEFAULT_ITERATIONS;
    struct node *nodes = memory_take(count * sizeof(*nodes), ALIGN_PAGE);
    struct node *first;
    uint64_t sum = 0, elapsed, expected;
    unsigned bits;

    if (!is_power_of_two(count))
        fail(OUTCOME_USAGE, "list: size must be a power of two");
    bits = log2_of(count);
    for (uint64_t i = 0; i < count; i++) {
        struct node *node = &nodes[scramble(i, bits, options->seed)];

        node->value = i;
        node->next = i + 1 < count ? &nodes[scramble(i + 1, bits, options->seed)] : NULL;
    }
    first = &nodes[scramble(0, bits, options->seed)];
    elapsed = region_begin();
    for (uint64_t i = 0; i < iterations; i++) {
        first->value = i;
        sum += sum_of(first);
    }
    elapsed = region_end(elapsed);

    expected = iterations * (count * (count - 1) / 2) + iterations * (iterations - 1) / 2;
    print("list: %s operations=%lu ns=%lu\n", sum == expected ? "ok" : "FAILED", count * iterations, elapsed);
    return sum == expected ? OUTCOME_OK : OUTCOME_FAILED;
}

const struct workload workload_list = {
    .name = "list",
    .synopsis = "walks of a linked list; size = nodes, iterations",
    .takes = OPTION_SIZE | OPTION_ITERATIONS | OPTION_SEED,
    .run = run,
};
