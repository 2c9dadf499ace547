/* The probe of a hash join without partitions: a table of build tuples with linear probing, and a probe relation that is
 * read in order (Blanas, Li and Patel, SIGMOD 2011: "no partitioning").
 *
 * size:    bytes of the hash table, a power of two; half of its 16-byte slots are in use
 * updates: probes */
#include "../workloads/workload.h"

enum { DEFAULT_BYTES = 16 << 20, DEFAULT_PROBES = 1000000 };

struct slot {
    /* 0 where there is none. */
    uint64_t key;
    uint64_t payload;
};

/* Build keys are the numbers from 1 on, scattered by their hash. */
static uint64_t payload_of(uint64_t key)
{
    return key * 3 + 1;
}

static void build(struct slot *slots, uint64_t mask, uint64_t tuples)
{
    for (uint64_t key = 1; key <= tuples; key++) {
        uint64_t at = mix64(key) & mask;

        while (slots[at].key != 0)
            at = (at + 1) & mask;
        slots[at].key = key;
        slots[at].payload = payload_of(key);
    }
}

/* The sum of the payloads that match. */
static uint64_t __attribute__((noinline)) probe(const struct slot *slots, uint64_t mask,
                                                const uint64_t *keys, uint64_t probes)
{
    uint64_t sum = 0;

    for (uint64_t i = 0; i < probes; i++) {
        uint64_t key = keys[i];
        uint64_t at = mix64(key) & mask;

        while (slots[at].key != 0 && slots[at].key != key)
            at = (at + 1) & mask;
        if (slots[at].key == key)
            sum += slots[at].payload;
    }
    return sum;
}

static enum outcome run(const struct options *options)
{
    uint64_t bytes = option_size(options, DEFAULT_BYTES, 4096, (uint64_t)1 << 36);
    uint64_t probes = options->updates != 0 ? options->updates : DEFAULT_PROBES;
    uint64_t count = bytes / sizeof(struct slot);
    uint64_t tuples = count / 2;
    struct random random = {options->seed};
    uint64_t expected = 0;
    struct slot *slots;
    uint64_t *keys;
    uint64_t sum;
    uint64_t elapsed;

    if (!is_power_of_two(bytes))
        fail(OUTCOME_USAGE, "hashjoin: size=%lu: must be a power of two", bytes);
    slots = memory_take(bytes, ALIGN_PAGE);
    keys = memory_take(probes * sizeof(*keys), ALIGN_PAGE);
    build(slots, count - 1, tuples);
    /* One in eight probes matches nothing. */
    for (uint64_t i = 0; i < probes; i++) {
        uint64_t draw = random_next(&random);
        uint64_t key = 1 + (draw >> 3) % tuples;

        keys[i] = (draw & 7) == 0 ? key + tuples : key;
        if (keys[i] <= tuples)
            expected += payload_of(key);
    }

    elapsed = region_begin();
    sum = probe(slots, count - 1, keys, probes);
    elapsed = region_end(elapsed);

    print("hashjoin: %s slots=%lu operations=%lu ns=%lu\n", sum == expected ? "ok" : "FAILED", count,
          probes, elapsed);
    return sum == expected ? OUTCOME_OK : OUTCOME_FAILED;
}

const struct workload workload_hashjoin = {
    .name = "hashjoin",
    .synopsis = "probes of a hash table; size = bytes of the table, updates = probes",
    .takes = OPTION_SIZE | OPTION_UPDATES | OPTION_SEED,
    .run = run,
};
