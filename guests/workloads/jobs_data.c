/* The segments of workload jobs, and what should be in them. */
#include "jobs.h"

#include "vos.h"

void jobs_fail(uint64_t space, const char *where, uint64_t page, uint64_t found, uint64_t expected)
{
    fail(OUTCOME_FAILED, "jobs: FAILED space %lu: page %lu of %s: %lx is not %lx", space, page, where,
         found, expected);
}

static const char OWN[] = "its segment";
static const char COMMON[] = "the common segment";

/* How often each page of the store was touched. Static memory costs nothing where it is not used. */
static uint32_t versions[MOST_PAGES];

uint64_t store_value(uint64_t seed, uint64_t page, uint64_t version)
{
    return mix64(seed ^ mix64(page << 32 | version));
}

static uint64_t place_of(uint64_t value)
{
    return value % PAGE_WORDS;
}

struct store store_new(uint64_t seed, uint64_t space)
{
    struct store store = {vos_segment(plan.pages * PAGE_BYTES), seed, space};

    if (store.words == NULL)
        fail(OUTCOME_FAILED, "jobs: FAILED space %lu: no memory for its segment", space);
    for (uint64_t page = 0; page < plan.pages; page++)
        versions[page] = 0;
    return store;
}

struct touched store_touch(const struct store *store, uint64_t page)
{
    uint64_t *words = store->words + page * PAGE_WORDS;
    uint32_t version = versions[page];
    uint64_t value;

    if (version != 0) {
        value = store_value(store->seed, page, version);
        if (words[place_of(value)] != value)
            jobs_fail(store->space, OWN, page, words[place_of(value)], value);
    }
    versions[page] = ++version;
    value = store_value(store->seed, page, version);
    words[place_of(value)] = value;
    return (struct touched){value, version};
}

void store_check(const struct store *store)
{
    static uint64_t expected[PAGE_WORDS];

    for (uint64_t page = 0; page < plan.pages; page++) {
        const uint64_t *words = store->words + page * PAGE_WORDS;

        for (unsigned i = 0; i < PAGE_WORDS; i++)
            expected[i] = 0;
        for (uint32_t version = 1; version <= versions[page]; version++) {
            uint64_t value = store_value(store->seed, page, version);

            expected[place_of(value)] = value;
        }
        for (unsigned i = 0; i < PAGE_WORDS; i++)
            if (words[i] != expected[i])
                jobs_fail(store->space, OWN, page, words[i], expected[i]);
    }
}

void store_release(const struct store *store)
{
    if (!vos_release())
        fail(OUTCOME_FAILED, "jobs: FAILED space %lu: its segment is not there", store->space);
}

static uint64_t *common;
/* How often this space has touched each page. */
static uint32_t common_counts[MOST_COMMON_PAGES];

enum { LINE_WORDS = 8 };
_Static_assert((1 + MOST_SPACES) * LINE_WORDS <= PAGE_WORDS, "a line for each space");

static uint64_t common_word(uint64_t page)
{
    return mix64(~(plan.seed + page));
}

static uint64_t *common_count(uint64_t space, uint64_t page)
{
    return common + page * PAGE_WORDS + (1 + space) * LINE_WORDS;
}

void common_take(uint64_t space)
{
    common = vos_common(plan.common_pages * PAGE_BYTES);
    if (common == NULL)
        fail(OUTCOME_FAILED, "jobs: FAILED space %lu: no memory for the common segment", space);
}

void common_fill(void)
{
    for (uint64_t page = 0; page < plan.common_pages; page++)
        common[page * PAGE_WORDS] = common_word(page);
}

static void check_common(uint64_t space, uint64_t page)
{
    uint64_t word = common[page * PAGE_WORDS];
    uint64_t count = *common_count(space, page);

    if (word != common_word(page))
        jobs_fail(space, COMMON, page, word, common_word(page));
    if (count != common_counts[page])
        jobs_fail(space, COMMON, page, count, common_counts[page]);
}

void common_touch(uint64_t space, uint64_t page)
{
    check_common(space, page);
    *common_count(space, page) = ++common_counts[page];
}

void common_leave(uint64_t space)
{
    for (uint64_t page = 0; page < plan.common_pages; page++) {
        check_common(space, page);
        *common_count(space, page) = 0;
    }
}
