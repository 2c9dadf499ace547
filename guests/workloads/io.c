/* Reads and writes of pages of a disk, in random order, with what was written checked: heavy input and output. On vos only.
 *
 * Each process has a part of the disk for itself, by its number. Each transfer is a transaction, as an EXCP was where this load is from (Umeno,
 * Amano and Saijo 1995, Table 1).
 *
 * size:    bytes of each process's part
 * updates: reads and writes; every third is a write
 * seed:    of the order */
#include "vos.h"
#include "workload.h"

#include "../common/bytes.h"

enum { PAGE_BYTES = 4096, PAGE_WORDS = PAGE_BYTES / 8, PAGE_SECTORS = PAGE_BYTES / VOS_SECTOR_BYTES };
enum { DEFAULT_BYTES = 128 << 10, DEFAULT_TRANSFERS = 32, MOST_PAGES = 4096 };

/* How often each page was written: its words follow from its number and that. */
static uint32_t versions[MOST_PAGES];
static uint64_t first_page;

static uint64_t word(uint64_t page, uint64_t index)
{
    return mix64((first_page + page) << 40 | (uint64_t)versions[page] << 16 | index);
}

static void move(bool write, uint64_t page, uint64_t *memory)
{
    uint64_t sector = (first_page + page) * PAGE_SECTORS;
    bool done = write ? vos_disk_write(sector, memory, PAGE_BYTES)
                      : vos_disk_read(sector, memory, PAGE_BYTES);

    PAGEWALK_TRANSACTION();
    if (!done)
        fail(OUTCOME_FAILED, "io: FAILED page %lu cannot be %s", first_page + page, write ? "written" : "read");
}

static uint64_t wrong_words(uint64_t page, const uint64_t *memory)
{
    uint64_t wrong = 0;

    for (uint64_t i = 0; i < PAGE_WORDS; i++)
        /* A page that was never written is zero. */
        if (memory[i] != (versions[page] != 0 ? word(page, i) : 0))
            wrong++;
    return wrong;
}

static uint64_t transfer(bool write, uint64_t page, uint64_t *memory)
{
    if (!write) {
        move(false, page, memory);
        return wrong_words(page, memory);
    }
    versions[page]++;
    for (uint64_t i = 0; i < PAGE_WORDS; i++)
        memory[i] = word(page, i);
    move(true, page, memory);
    return 0;
}

static enum outcome run(const struct options *options)
{
    uint64_t pages = option_size(options, DEFAULT_BYTES, PAGE_BYTES, MOST_PAGES * PAGE_BYTES) / PAGE_BYTES;
    uint64_t transfers = options->updates != 0 ? options->updates : DEFAULT_TRANSFERS;
    uint64_t *memory = memory_take(PAGE_BYTES, ALIGN_PAGE);
    uint64_t wrong = 0;
    uint64_t elapsed;
    struct random random;

    if (!vos_is_there())
        fail(OUTCOME_FAILED, "io: FAILED this kernel is not vos, whose system calls it needs");
    first_page = (vos_process() - 1) * pages;
    random.state = options->seed + first_page;
    if (vos_disk_sectors() < (first_page + pages) * PAGE_SECTORS)
        fail(OUTCOME_FAILED, "io: FAILED the disk has %lu sectors: process %lu needs %lu", vos_disk_sectors(),
             vos_process(), (first_page + pages) * PAGE_SECTORS);
    elapsed = region_begin();
    for (uint64_t i = 0; i < transfers; i++)
        wrong += transfer(i % 3 == 0, random_next(&random) % pages, memory);
    elapsed = region_end(elapsed);
    for (uint64_t page = 0; page < pages; page++)
        wrong += transfer(false, page, memory);
    if (wrong != 0) {
        print("io: FAILED %lu words wrong\n", wrong);
        return OUTCOME_FAILED;
    }
    print("io: ok pages=%lu transfers=%lu ns=%lu\n", pages, transfers, elapsed);
    return OUTCOME_OK;
}

const struct workload workload_io = {
    .name = "io",
    .synopsis = "random reads and writes of a disk, on vos; size of each process's part",
    .takes = OPTION_SIZE | OPTION_UPDATES | OPTION_SEED,
    .run = run,
};
