/* Server processes of a data base that start up at the same time, all of which map one section, and then shut down at the same time (Noel and
 * Karkhanis 1998, "Performance Results"). On the kernel of servers only.
 *
 * The first process is the launcher. It starts the servers, waits until all have started, and then lets all end. A server takes its private
 * memory and stores to each page of it, maps the section, adds itself to the list of servers in it, under a lock there, and adds one to a word
 * of each of some pages, from a random one on. The launcher checks the list and these words.
 *
 * section:    what all map; its first page has the lock and the list
 * iterations: servers, 1 to 500 (30)
 * size:       bytes of a server's private memory (64K)
 * updates:    pages of the section that a server uses, from 1 (8)
 * role:       copied, or nothing; copied: the kernel copies the launcher's links to the section's leaf tables into other processes, in place of making
 *             each
 * seed:       of the random places */
#include "calls.h"

#include "../common/bytes.h"
#include "../workloads/section.h"
#include "../workloads/vos.h"
#include "../workloads/workload.h"

enum { PAGE_BYTES = 4096, PAGE_WORDS = PAGE_BYTES / 8, MOST_SERVERS = 500, LAUNCHER = 1 };

/* The section's first page. */
struct header {
    uint64_t held;
    uint64_t count;
    uint64_t servers[MOST_SERVERS];
};

_Static_assert(sizeof(struct header) <= PAGE_BYTES, "pages behind the first have words that servers add to");

struct load {
    struct header *header;
    /* The first word of each page behind the first is added to. */
    uint64_t *words;
    uint64_t pages;
    uint64_t servers;
    uint64_t updates;
    uint64_t seed;
};

static void lock(struct header *header)
{
    /* A server that was preempted with the lock would have others spin until its next slice. */
    while (__atomic_exchange_n(&header->held, 1, __ATOMIC_ACQUIRE) != 0)
        yield();
}

static void unlock(struct header *header)
{
    __atomic_store_n(&header->held, 0, __ATOMIC_RELEASE);
}

static struct load take_section(const struct options *options)
{
    struct load load = {
        .servers = options->iterations != 0 ? options->iterations : 30,
        .updates = options->updates != 0 ? options->updates : 8,
        .seed = options->seed,
    };
    uint64_t bytes = 0;

    if (options->section == NULL)
        fail(OUTCOME_USAGE, "servers: section=: names the section");
    if (options->role != NULL && !string_equal(options->role, "copied"))
        fail(OUTCOME_USAGE, "servers: role=%s: must be copied", options->role);
    if (load.servers > MOST_SERVERS)
        fail(OUTCOME_USAGE, "servers: iterations=%lu: must be in 1 to %d", load.servers, MOST_SERVERS);
    load.header = section_take(options->section, true, &bytes);
    if (bytes < 2 * PAGE_BYTES)
        fail(OUTCOME_USAGE, "servers: section %s has less than two pages", options->section);
    load.words = (uint64_t *)load.header + PAGE_WORDS;
    load.pages = bytes / PAGE_BYTES - 1;
    return load;
}

/* The first of the pages that a server uses. */
static uint64_t first_page(const struct load *load, uint64_t server)
{
    return mix64(load->seed ^ mix64(server)) % load->pages;
}

static uint64_t *word(const struct load *load, uint64_t page)
{
    return &load->words[page % load->pages * PAGE_WORDS];
}

static enum outcome serve(const struct options *options)
{
    uint64_t size = option_size(options, 64 << 10, PAGE_BYTES, (uint64_t)1 << 30);
    volatile unsigned char *memory = memory_take(size, ALIGN_PAGE);
    struct load load;
    uint64_t first;

    for (uint64_t at = 0; at < size; at += PAGE_BYTES)
        memory[at] = 1;
    load = take_section(options);
    lock(load.header);
    if (load.header->count < MOST_SERVERS)
        load.header->servers[load.header->count] = vos_process();
    load.header->count++;
    unlock(load.header);
    first = first_page(&load, vos_process());
    for (uint64_t i = 0; i < load.updates; i++)
        __atomic_fetch_add(word(&load, first + i), 1, __ATOMIC_RELAXED);
    /* It has started. The answer comes when it is to end. */
    vos_call((const uint64_t[3]){linux_nanoseconds(), 0, 0});
    return OUTCOME_OK;
}

/* Whether each server is in the list once, and has added to the words of its pages. Takes away again what they have added. */
static bool is_complete(const struct load *load)
{
    if (load->header->count != load->servers)
        return false;
    for (uint64_t server = LAUNCHER + 1; server <= LAUNCHER + load->servers; server++) {
        unsigned found = 0;

        for (uint64_t i = 0; i < load->servers; i++)
            found += load->header->servers[i] == server;
        if (found != 1)
            return false;
        for (uint64_t i = 0; i < load->updates; i++)
            if ((*word(load, first_page(load, server) + i))-- == 0)
                return false;
    }
    for (uint64_t server = LAUNCHER + 1; server <= LAUNCHER + load->servers; server++)
        for (uint64_t i = 0; i < load->updates; i++)
            if (*word(load, first_page(load, server) + i) != 0)
                return false;
    return true;
}

static enum outcome launch(const struct options *options)
{
    struct load load = take_section(options);
    /* Who has started, in the order in which they called. */
    uint64_t *callers = memory_take(MOST_SERVERS * sizeof(*callers), ALIGN_PAGE);
    uint64_t started = 0;
    bool complete;
    uint64_t begin;

    if (options->role != NULL)
        copy_links();
    if (!begin_phase(PHASE_START))
        fail(OUTCOME_FAILED, "servers: FAILED this kernel has no phases");
    begin = linux_nanoseconds();
    for (uint64_t i = 0; i < load.servers; i++)
        vos_start();
    for (uint64_t i = 0; i < load.servers; i++) {
        struct vos_message message;

        if (!vos_receive(&message))
            fail(OUTCOME_FAILED, "servers: FAILED the launcher does not receive");
        callers[i] = message.caller;
        started += message.words[0] - begin;
    }
    begin_phase(PHASE_BETWEEN);
    complete = is_complete(&load);
    PAGEWALK_FIGURE("servers", load.servers);
    PAGEWALK_FIGURE("mean_start_ns", started / load.servers);
    print("servers: %s servers=%lu pages=%lu\n", complete ? "ok" : "FAILED", load.servers, load.pages + 1);
    begin_phase(PHASE_STOP);
    for (uint64_t i = 0; i < load.servers; i++)
        vos_reply(callers[i], (struct vos_answer){{0, 0}});
    return complete ? OUTCOME_OK : OUTCOME_FAILED;
}

static enum outcome run(const struct options *options)
{
    return vos_process() == LAUNCHER ? launch(options) : serve(options);
}

const struct workload workload_servers = {
    .name = "servers",
    .synopsis = "servers that start, map one section, and end; iterations = servers",
    .takes = OPTION_SIZE | OPTION_ITERATIONS | OPTION_UPDATES | OPTION_SEED | OPTION_SECTION | OPTION_ROLE,
    .run = run,
};
