/* The CRC-32 of IEEE 802.3, a bit at a time.
 *
 * size:       bytes of the message
 * iterations: how often its CRC is taken */
#include "../workloads/workload.h"

enum { DEFAULT_BYTES = 64 << 10, DEFAULT_ITERATIONS = 256 };

static const uint32_t POLYNOMIAL = 0xedb88320;

static uint32_t __attribute__((noinline)) crc_by_bits(const uint8_t *bytes, uint64_t count, uint32_t crc)
{
    for (uint64_t i = 0; i < count; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (POLYNOMIAL & -(crc & 1));
    }
    return crc;
}

/* The same by a table, to check the other. */
static uint32_t crc_by_table(const uint8_t *bytes, uint64_t count, uint32_t crc)
{
    uint32_t table[256];

    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t entry = byte;

        for (int bit = 0; bit < 8; bit++)
            entry = (entry & 1) != 0 ? entry >> 1 ^ POLYNOMIAL : entry >> 1;
        table[byte] = entry;
    }
    for (uint64_t i = 0; i < count; i++)
        crc = crc >> 8 ^ table[(crc ^ bytes[i]) & 0xff];
    return crc;
}

static enum outcome run(const struct options *options)
{
    uint64_t bytes = option_size(options, DEFAULT_BYTES, 1, (uint64_t)1 << 32);
    uint64_t iterations = options->iterations != 0 ? options->iterations : DEFAULT_ITERATIONS;
    uint8_t *message = memory_take(bytes, ALIGN_PAGE);
    struct random random = {options->seed};
    uint32_t crc = ~0u, expected = ~0u;
    uint64_t elapsed;

    for (uint64_t i = 0; i < bytes; i++)
        message[i] = (uint8_t)random_next(&random);
    elapsed = region_begin();
    for (uint64_t i = 0; i < iterations; i++)
        crc = crc_by_bits(message, bytes, crc);
    elapsed = region_end(elapsed);

    for (uint64_t i = 0; i < iterations; i++)
        expected = crc_by_table(message, bytes, expected);
    print("crc: %s crc=%x operations=%lu ns=%lu\n", crc == expected ? "ok" : "FAILED", crc, bytes * iterations,
          elapsed);
    return crc == expected ? OUTCOME_OK : OUTCOME_FAILED;
}

const struct workload workload_crc = {
    .name = "crc",
    .synopsis = "CRC-32 a bit at a time; size = bytes, iterations",
    .takes = OPTION_SIZE | OPTION_ITERATIONS | OPTION_SEED,
    .run = run,
};
