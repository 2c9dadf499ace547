/* Random references to the pages of a section, each page as likely as any other: a data base cache whose records are used at random. The working set
 * that holds a part of the section then holds as large a part of the references, which gups' sequence is not random enough for.
 *
 * section: where
 * updates: references (100000), each of which adds one to a word of its page. After the region of interest come as many others, and then the sum of
 *          all words is checked
 * seed:    of the pages */
#include "../workloads/section.h"
#include "../workloads/workload.h"

enum { PAGE_BYTES = 4096, PAGE_WORDS = PAGE_BYTES / 8 };

static void __attribute__((noinline)) refer(uint64_t *words, uint64_t pages, uint64_t references, struct random *random)
{
    for (uint64_t i = 0; i < references; i++)
        words[random_next(random) % pages * PAGE_WORDS]++;
}

static enum outcome run(const struct options *options)
{
    uint64_t references = options->updates != 0 ? options->updates : 100000;
    uint64_t bytes = 0;
    struct random random = {mix64(options->seed)};
    uint64_t sum = 0;
    uint64_t *words;
    uint64_t pages;
    uint64_t elapsed;

    if (options->section == NULL)
        fail(OUTCOME_USAGE, "references: section=: names the section");
    words = section_take(options->section, true, &bytes);
    pages = bytes / PAGE_BYTES;
    for (uint64_t page = 0; page < pages; page++)
        words[page * PAGE_WORDS] = 0;

    elapsed = region_begin();
    refer(words, pages, references, &random);
    elapsed = region_end(elapsed);

    refer(words, pages, references, &random);
    for (uint64_t page = 0; page < pages; page++)
        sum += words[page * PAGE_WORDS];
    print("references: %s pages=%lu references=%lu ns=%lu\n", sum == 2 * references ? "ok" : "FAILED", pages, references, elapsed);
    return sum == 2 * references ? OUTCOME_OK : OUTCOME_FAILED;
}

const struct workload workload_references = {
    .name = "references",
    .synopsis = "random references to pages of a section; updates = references",
    .takes = OPTION_UPDATES | OPTION_SEED | OPTION_SECTION,
    .run = run,
};
