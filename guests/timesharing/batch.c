/* Steps of batch jobs, after those of Umeno, Amano and Saijo 1995 (Table 1, workloads 1 to 3: compile, link, go). Each process is an initiator,
 * which runs one step after the other. On vos with a disk only.
 *
 * A step reads pages of the process's part of the disk, sorts an array, and writes a page. It is a transaction (marker 3): so short a run has too
 * few whole jobs to count.
 *
 * size:       bytes of the array that a step sorts (32K)
 * iterations: pages that a step reads (7)
 * duration:   microseconds from the start of the machine on, after which the initiator ends (10000). A step that is not finished then does not count
 * seed:       of the order of pages and of the arrays */
#include "session.h"

#include "../workloads/vos.h"

enum { PAGE_BYTES = 4096, PAGE_WORDS = PAGE_BYTES / 8, PAGE_SECTORS = PAGE_BYTES / VOS_SECTOR_BYTES };
enum { PART_PAGES = 16 };

struct initiator {
    uint64_t first_page;
    /* How often each page of its part was written: its words follow from that. */
    uint64_t versions[PART_PAGES];
    uint64_t *page;
    uint64_t *array;
    uint64_t count;
    struct random random;
};

static uint64_t word(const struct initiator *initiator, uint64_t page, uint64_t index)
{
    return mix64((initiator->first_page + page) << 40 | initiator->versions[page] << 16 | index);
}

static void read_page(const struct initiator *initiator, uint64_t page)
{
    if (!vos_disk_read((initiator->first_page + page) * PAGE_SECTORS, initiator->page, PAGE_BYTES))
        fail(OUTCOME_FAILED, "batch: FAILED page %lu cannot be read", initiator->first_page + page);
    for (uint64_t i = 0; i < PAGE_WORDS; i++)
        if (initiator->page[i] != (initiator->versions[page] != 0 ? word(initiator, page, i) : 0))
            fail(OUTCOME_FAILED, "batch: FAILED word %lu of page %lu", i, initiator->first_page + page);
}

static void write_page(struct initiator *initiator, uint64_t page)
{
    initiator->versions[page]++;
    for (uint64_t i = 0; i < PAGE_WORDS; i++)
        initiator->page[i] = word(initiator, page, i);
    if (!vos_disk_write((initiator->first_page + page) * PAGE_SECTORS, initiator->page, PAGE_BYTES))
        fail(OUTCOME_FAILED, "batch: FAILED page %lu cannot be written", initiator->first_page + page);
}

/* Shell's sort with the increments of Knuth, The Art of Computer Programming 3, 5.2.1: (3^k - 1) / 2. */
static void sort(uint64_t *a, uint64_t count)
{
    uint64_t gap = 1;

    while (3 * gap + 1 < count)
        gap = 3 * gap + 1;
    for (; gap > 0; gap /= 3)
        for (uint64_t i = gap; i < count; i++) {
            uint64_t value = a[i];
            uint64_t at = i;

            for (; at >= gap && a[at - gap] > value; at -= gap)
                a[at] = a[at - gap];
            a[at] = value;
        }
}

/* A step, whether or not it ends before the session does. */
static void step(struct initiator *initiator, const struct session *session)
{
    for (uint64_t i = 0; i < session->iterations; i++)
        read_page(initiator, random_next(&initiator->random) % PART_PAGES);
    for (uint64_t i = 0; i < initiator->count; i++)
        initiator->array[i] = random_next(&initiator->random);
    sort(initiator->array, initiator->count);
    for (uint64_t i = 1; i < initiator->count; i++)
        if (initiator->array[i - 1] > initiator->array[i])
            fail(OUTCOME_FAILED, "batch: FAILED word %lu is not in order", i);
    write_page(initiator, random_next(&initiator->random) % PART_PAGES);
}

enum outcome batch(int count, char **words)
{
    struct session session = {.size = 32 << 10, .iterations = 7, .duration_nanoseconds = 10000000};
    struct initiator initiator = {.first_page = (vos_process() - 1) * PART_PAGES};
    uint64_t steps = 0;

    session_read(&session, "batch", count, words);
    if (vos_disk_sectors() < (initiator.first_page + PART_PAGES) * PAGE_SECTORS)
        fail(OUTCOME_FAILED, "batch: FAILED the disk has %lu sectors: process %lu needs %lu", vos_disk_sectors(),
             vos_process(), (initiator.first_page + PART_PAGES) * PAGE_SECTORS);
    initiator.page = memory_take(PAGE_BYTES, ALIGN_PAGE);
    initiator.count = session.size / sizeof(uint64_t);
    initiator.array = memory_take(session.size, ALIGN_PAGE);
    initiator.random.state = mix64(session.seed ^ mix64(vos_process()));
    while (session_goes_on(&session)) {
        step(&initiator, &session);
        if (!session_goes_on(&session))
            break;
        PAGEWALK_TRANSACTION();
        steps++;
    }
    print("batch: ok steps=%lu\n", steps);
    return OUTCOME_OK;
}
