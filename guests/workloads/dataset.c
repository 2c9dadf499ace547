/* One data set for many machines: who writes fills a section with numbers, and says when it is done; who reads waits for that and checks
 * them all.
 *
 * section: where
 * role:    write; read; wait (as write, but ends only when `updates` readers that may write have read); touch and scan (store to, or
 *          load from, each page of `size` bytes from the section's start, whatever is there)
 * updates: with role wait, how many readers; with role read, 1 to tell the writer
 * seed:    of the numbers; readers need the writer's */
#include "workload.h"

#include "../common/bytes.h"
#include "section.h"

struct header {
    uint64_t ready;
    uint64_t readers;
};

/* Numbers begin on the second page. */
enum { PAGE = 4096 };

static const uint64_t READY = 0x6461746173657400;

static inline void pause(void)
{
    __asm__ volatile(".insn i 0x0f, 0, x0, x0, 0x010" ::: "memory");
}

static enum outcome touch(volatile uint64_t *section, uint64_t bytes, bool write)
{
    uint64_t sum = 0;

    for (uint64_t at = 0; at < bytes / sizeof(*section); at += PAGE / sizeof(*section)) {
        if (write)
            section[at] = at;
        sum += section[at];
    }
    print("dataset: ok %s pages=%lu sum=%lu\n", write ? "touched" : "scanned", bytes / PAGE, sum);
    return OUTCOME_OK;
}

static enum outcome write_all(struct header *header, uint64_t *words, uint64_t count,
                              const struct options *options, bool wait)
{
    for (uint64_t i = 0; i < count; i++)
        words[i] = mix64(i + options->seed);
    __atomic_store_n(&header->ready, READY + options->seed, __ATOMIC_RELEASE);
    while (wait && __atomic_load_n(&header->readers, __ATOMIC_ACQUIRE) < options->updates)
        pause();
    print("dataset: ok wrote words=%lu\n", count);
    return OUTCOME_OK;
}

static enum outcome read_all(struct header *header, const uint64_t *words, uint64_t count,
                             const struct options *options)
{
    uint64_t errors = 0;
    uint64_t elapsed;

    while (__atomic_load_n(&header->ready, __ATOMIC_ACQUIRE) != READY + options->seed)
        pause();
    elapsed = region_begin();
    for (uint64_t i = 0; i < count; i++)
        if (words[i] != mix64(i + options->seed))
            errors++;
    elapsed = region_end(elapsed);
    if (options->updates != 0)
        __atomic_fetch_add(&header->readers, 1, __ATOMIC_RELEASE);
    print("dataset: %s read words=%lu errors=%lu ns=%lu\n", errors == 0 ? "ok" : "FAILED", count,
          errors, elapsed);
    return errors == 0 ? OUTCOME_OK : OUTCOME_FAILED;
}

static enum outcome run(const struct options *options)
{
    const char *role = options->role != NULL ? options->role : "read";
    bool write = string_equal(role, "write");
    bool wait = string_equal(role, "wait");
    bool touches = string_equal(role, "touch");
    bool scans = string_equal(role, "scan");
    uint64_t bytes = option_size(options, 0, 0, (uint64_t)1 << 40);
    uint64_t wanted = bytes;
    uint64_t count;
    void *section;

    if (options->section == NULL)
        fail(OUTCOME_USAGE, "dataset: section=: names the section");
    if (!write && !wait && !touches && !scans && !string_equal(role, "read"))
        fail(OUTCOME_USAGE, "dataset: role=%s: must be write, wait, read, touch or scan", role);
    section = section_take(options->section, write || wait || touches || options->updates != 0, &bytes);
    if (touches || scans)
        return touch(section, wanted != 0 ? wanted : bytes, touches);
    if (wanted != 0 && wanted < bytes)
        bytes = wanted;
    if (bytes < 2 * PAGE)
        fail(OUTCOME_USAGE, "dataset: section %s has less than two pages", options->section);
    count = (bytes - PAGE) / sizeof(uint64_t);
    if (write || wait)
        return write_all(section, (uint64_t *)section + PAGE / sizeof(uint64_t), count, options, wait);
    return read_all(section, (uint64_t *)section + PAGE / sizeof(uint64_t), count, options);
}

const struct workload workload_dataset = {
    .name = "dataset",
    .synopsis = "a data set in a section; role = write, wait, read, touch or scan",
    .takes = OPTION_SIZE | OPTION_UPDATES | OPTION_SEED | OPTION_SECTION | OPTION_ROLE,
    .run = run,
};
