/* A section taken out of the machine and mapped again while it runs, on vos: what was written is there again, what may not be is refused, and what is
 * not mapped is not seen.
 *
 * section: which; the machine has it for writing, and it is to outlive a moment without a mapper
 * role:    all: each request with its answer; reader: the same of a machine that may only read; gone: unmaps and reads, which kills the process;
 *          again: the same after another map elsewhere
 * seed:    of the numbers */
#include "workload.h"

#include "../common/bytes.h"
#include "section.h"
#include "vos.h"

enum { WORDS_OF_PAGE = 512 };

static unsigned wrong;

/* Asks, and says so when the answer is another than expected. */
static void ask(const char *what, const char *name, enum vos_section_request request, uint64_t at,
                int64_t expected)
{
    int64_t answer = vos_ask_section(name, request, at);

    if (answer == expected)
        return;
    wrong++;
    print("remap: %s: answered -%lu and not -%lu\n", what, (uint64_t)-answer, (uint64_t)-expected);
}

static void fill(volatile uint64_t *words, uint64_t count, uint64_t seed)
{
    for (uint64_t i = 0; i < count; i += WORDS_OF_PAGE)
        words[i] = mix64(i + seed);
}

static void check(const char *when, volatile uint64_t *words, uint64_t count, uint64_t seed)
{
    uint64_t errors = 0;

    for (uint64_t i = 0; i < count; i += WORDS_OF_PAGE)
        if (words[i] != mix64(i + seed))
            errors++;
    if (errors == 0)
        return;
    wrong++;
    print("remap: %s: %lu pages are wrong\n", when, errors);
}

static enum outcome run(const struct options *options)
{
    enum { DENIED = -4, INVALID_ADDRESS = -5, ALREADY_AVAILABLE = -6 };
    const char *name = options->section;
    const uint64_t elsewhere = 0x140000000;
    const uint64_t ram = 0x80000000;
    const uint64_t seed = options->seed;
    uint64_t bytes = 0;
    uint64_t count;
    volatile uint64_t *words;

    if (name == NULL)
        fail(OUTCOME_USAGE, "remap: section=: names the section");
    if (!vos_is_there())
        fail(OUTCOME_USAGE, "remap: only vos can ask for that");
    if (options->role != NULL && string_equal(options->role, "reader")) {
        ask("delete", name, VOS_SECTION_DELETE, 0, DENIED);
        ask("unmap", name, VOS_SECTION_UNMAP, 0, 0);
        ask("map to write", name, VOS_SECTION_MAP, 0, DENIED);
        ask("delete what nobody maps", name, VOS_SECTION_DELETE, 0, DENIED);
        ask("map to read", name, VOS_SECTION_MAP_TO_READ, 0, 0);
        words = section_take(name, false, &bytes);
        print("remap: %s first=%lu\n", wrong == 0 ? "ok" : "FAILED", words[0]);
        return wrong == 0 ? OUTCOME_OK : OUTCOME_FAILED;
    }
    words = section_take(name, true, &bytes);
    count = bytes / sizeof(*words);
    fill(words, count, seed);
    if (options->role != NULL && string_equal(options->role, "gone")) {
        ask("unmap", name, VOS_SECTION_UNMAP, 0, 0);
        print("remap: unmapped, %u wrong\n", wrong);
        print("remap: read %lu\n", words[0]);
        return OUTCOME_FAILED;
    }
    if (options->role != NULL && string_equal(options->role, "again")) {
        /* The old address leads nowhere when the section is at another: this process's own table still says so. */
        vos_leave_sections();
        ask("unmap", name, VOS_SECTION_UNMAP, 0, 0);
        ask("map elsewhere", name, VOS_SECTION_MAP, elsewhere, 0);
        words = section_take(name, true, &bytes);
        check("elsewhere", words, count, seed);
        ask("unmap there", name, VOS_SECTION_UNMAP, 0, 0);
        print("remap: unmapped, %u wrong\n", wrong);
        print("remap: read %lu\n", words[0]);
        return OUTCOME_FAILED;
    }
    ask("delete in use", name, VOS_SECTION_DELETE, 0, DENIED);
    ask("map twice", name, VOS_SECTION_MAP, elsewhere, ALREADY_AVAILABLE);
    ask("unmap", name, VOS_SECTION_UNMAP, 0, 0);
    ask("unmap twice", name, VOS_SECTION_UNMAP, 0, INVALID_ADDRESS);
    ask("map over memory", name, VOS_SECTION_MAP, ram, INVALID_ADDRESS);
    ask("map over devices", name, VOS_SECTION_MAP, 0x10000000, INVALID_ADDRESS);
    ask("map at half a page", name, VOS_SECTION_MAP, elsewhere + 2048, INVALID_ADDRESS);
    ask("map beyond everything", name, VOS_SECTION_MAP, -(uint64_t)4096, INVALID_ADDRESS);
    ask("map again", name, VOS_SECTION_MAP, 0, 0);
    check("again", words, count, seed);
    fill(words, count, seed + 1);
    vos_leave_sections();
    /* Not on the boundary of a table, so that no table is shared. */
    ask("unmap", name, VOS_SECTION_UNMAP, 0, 0);
    ask("map askew", name, VOS_SECTION_MAP, elsewhere + 4096, 0);
    words = section_take(name, true, &bytes);
    check("askew", words, count, seed + 1);
    vos_leave_sections();
    ask("unmap askew", name, VOS_SECTION_UNMAP, 0, 0);
    ask("map to read", name, VOS_SECTION_MAP_TO_READ, elsewhere, 0);
    words = section_take(name, false, &bytes);
    check("to read", words, count, seed + 1);
    print("remap: %s bytes=%lu\n", wrong == 0 ? "ok" : "FAILED", bytes);
    return wrong == 0 ? OUTCOME_OK : OUTCOME_FAILED;
}

const struct workload workload_remap = {
    .name = "remap",
    .synopsis = "takes a section out of the machine and maps it anew (vos)",
    .takes = OPTION_SECTION | OPTION_ROLE | OPTION_SEED,
    .run = run,
};
