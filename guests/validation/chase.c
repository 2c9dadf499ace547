/* A pointer chase: each load's address is the data of the load before it. One line of memory for each element, in
 * one cycle through all of them in random order.
 *
 * size:    bytes of the elements, 64 each
 * updates: steps */
#include "../workloads/workload.h"

enum { DEFAULT_BYTES = 16 << 20, DEFAULT_STEPS = 1000000 };

struct element {
    struct element *next;
    /* Its place in the cycle. */
    uint64_t place;
    uint64_t unused[6];
};

_Static_assert(sizeof(struct element) == ALIGN_CACHE_LINE, "a cache line");

/* Links all elements into one cycle, whose order is a random permutation (Fisher and Yates). */
static void link_all(struct element *elements, uint64_t count, uint64_t seed)
{
    uint32_t *order = memory_take(count * sizeof(*order), ALIGN_PAGE);
    struct random random = {seed};

    for (uint64_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    for (uint64_t i = count - 1; i > 0; i--) {
        uint64_t j = random_next(&random) % (i + 1);
        uint32_t swapped = order[i];

        order[i] = order[j];
        order[j] = swapped;
    }
    for (uint64_t i = 0; i < count; i++) {
        elements[order[i]].next = &elements[order[(i + 1) % count]];
        elements[order[i]].place = i;
    }
}

static const struct element *__attribute__((noinline)) follow(const struct element *element,
                                                              uint64_t steps)
{
    for (uint64_t i = 0; i < steps; i++)
        element = element->next;
    return element;
}

static enum outcome run(const struct options *options)
{
    uint64_t bytes = option_size(options, DEFAULT_BYTES, 4096, (uint64_t)1 << 36);
    uint64_t steps = options->updates != 0 ? options->updates : DEFAULT_STEPS;
    uint64_t count = bytes / sizeof(struct element);
    struct element *elements = memory_take(count * sizeof(*elements), ALIGN_PAGE);
    const struct element *last;
    uint64_t first;
    uint64_t elapsed;
    bool ok;

    link_all(elements, count, options->seed);
    first = elements[0].place;

    elapsed = region_begin();
    last = follow(&elements[0], steps);
    elapsed = region_end(elapsed);

    ok = last->place == (first + steps) % count;
    print("chase: %s elements=%lu operations=%lu ns=%lu\n", ok ? "ok" : "FAILED", count, steps, elapsed);
    return ok ? OUTCOME_OK : OUTCOME_FAILED;
}

const struct workload workload_chase = {
    .name = "chase",
    .synopsis = "pointer chase; size = bytes of the elements, updates = steps",
    .takes = OPTION_SIZE | OPTION_UPDATES | OPTION_SEED,
    .run = run,
};
