/* Random references to the pages of a section, each page as likely as any other: a data base cache whose records are used at random. The working set
 * that holds a part of the section then holds as large a part of the references, which gups' sequence is not random enough for.
 *
 * section: where
 * updates: references (100000), each of which adds one to a word of its page. After the region of interest, as many take it away again, and all
 *          words are checked
 * seed:    of the pages */
#include "../workloads/section.h"
#include "../workloads/workload.h"

enum { PAGE_BYTES = 4096, PAGE_WORDS = PAGE_BYTES / 8 };

/* Adds `what` to the words of this sequence of pages. */
static void __attribute__((noinline)) refer(uint64_t *words, uint64_t pages, uint64_t references, uint64_t seed,
                                            uint64_t what)
{
    struct random random = {mix64(seed)};

    for (uint64_t i = 0; i < references; i++)
        words[random_next(&random) % pages * PAGE_WORDS] += what;
}

static enum outcome run(const struct options *options)
{
    uint64_t references = options->updates != 0 ? options->updates : 100000;
    uint64_t bytes = 0;
    uint64_t errors = 0;
    uint64_t *words;
    uint64_t pages;
    uint64_t elapsed;

    if (options->section == NULL)
        fail(OUTCOME_USAGE, "references: section=: names the section");
    words = section_take(options->section, true, &bytes);
    pages = bytes / PAGE_BYTES;
    for (uint64_t page = 0; page < pages; page++)
        words[page * PAGE_WORDS] = page;

    elapsed = region_begin();
    refer(words, pages, references, options->seed, 1);
    elapsed = region_end(elapsed);

    refer(words, pages, references, options->seed, -(uint64_t)1);
    for (uint64_t page = 0; page < pages; page++)
        errors += words[page * PAGE_WORDS] != page;
    print("references: %s pages=%lu references=%lu errors=%lu ns=%lu\n", errors == 0 ? "ok" : "FAILED", pages,
          references, errors, elapsed);
    return errors == 0 ? OUTCOME_OK : OUTCOME_FAILED;
}

const struct workload workload_references = {
    .name = "references",
    .synopsis = "random references to pages of a section; updates = references",
    .takes = OPTION_UPDATES | OPTION_SEED | OPTION_SECTION,
    .run = run,
};
