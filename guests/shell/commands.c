#include "commands.h"

#include "../common/bytes.h"
#include "../common/number.h"
#include "../workloads/vos.h"
#include "calls.h"
#include "walk.h"

enum { WORDS = 16 };

struct words {
    unsigned count;
    char *word[WORDS];
};

static void say(const char *text)
{
    struct text line = {.length = 0};

    text_add(&line, "%s\n", text);
    text_write(&line);
}

static void say_about(const char *what, const char *text)
{
    struct text line = {.length = 0};

    text_add(&line, "%s: %s\n", what, text);
    text_write(&line);
}

static void add_milliseconds(struct text *text, size_t column, uint64_t nanoseconds)
{
    text_right(text, column, nanoseconds / 1000000);
    text_add(text, "ms");
}

static void command_ps(const struct words *words)
{
    struct text text = {.length = 0};

    (void)words;
    text_add(&text, "id  asid  resident  tables      time  state    command\n");
    text_write(&text);
    for (uint64_t i = 0; i < SHELL_PROCESSES; i++) {
        struct shell_process process;

        if (shell_failed(shell_call(SHELL_PROCESS, i, (uint64_t)&process, 0)) ||
            process.state == SHELL_FREE)
            continue;
        text_right(&text, 2, process.id);
        text_right(&text, 8, process.asid);
        text_right(&text, 17, process.resident_bytes >> 10);
        text_add(&text, "K");
        text_right(&text, 25, process.table_bytes >> 10);
        text_add(&text, "K");
        add_milliseconds(&text, 34, process.nanoseconds);
        text_add(&text, "  %s", process.state == SHELL_READY ? "ready" : "ended");
        text_pad(&text, 47);
        text_add(&text, "%s\n", process.line);
        text_write(&text);
    }
}

static void report_status(uint64_t id, uint64_t status, const char *line)
{
    struct text text = {.length = 0};

    text_add(&text, "[%lu] ", id);
    if (status == 0)
        text_add(&text, "done");
    else if (status == SHELL_STATUS_INTERRUPTED)
        text_add(&text, "killed");
    else
        text_add(&text, "status %lu", status);
    text_add(&text, ": %s\n", line);
    text_write(&text);
}

void command_report_ended(void)
{
    for (uint64_t i = 0; i < SHELL_PROCESSES; i++) {
        struct shell_process process;

        if (shell_failed(shell_call(SHELL_PROCESS, i, (uint64_t)&process, 0)) ||
            process.state != SHELL_ENDED)
            continue;
        shell_call(SHELL_WAIT, process.id, 0, 0);
        report_status(process.id, process.status, process.line);
    }
}

/* The level of a page's leaves; SHELL_SAME_PAGES when the word is no size. */
static uint64_t page_of(const char *name)
{
    static const char *const names[] = {"4K", "2M", "1G"};
    uint64_t page = 0;

    while (page < SHELL_SAME_PAGES && !string_equal(name, names[page]))
        page++;
    return page;
}

static void command_run_workload(const struct words *words)
{
    struct text line = {.length = 0};
    unsigned count = words->count;
    bool background = count > 1 && string_equal(words->word[count - 1], "&");
    uint64_t page = SHELL_SAME_PAGES;
    uint64_t id;
    uint64_t status;

    count -= background;
    if (count < 2) {
        say("usage: run WORKLOAD [OPTION=VALUE]... [&]");
        return;
    }
    if (string_equal(words->word[1], "jobs")) {
        /* Its control space is the first process, which the shell is. */
        say("jobs: needs a machine without a shell: pagewalk boot --run jobs");
        return;
    }
    for (unsigned i = 1; i < count; i++) {
        const char *size = string_after_prefix(words->word[i], "page=");

        /* The kernel's option, as on its command line. */
        if (size != NULL) {
            page = page_of(size);
            if (page == SHELL_SAME_PAGES) {
                say_about(words->word[i], "must be 4K, 2M or 1G");
                return;
            }
            continue;
        }
        text_add(&line, line.length == 0 ? "%s" : " %s", words->word[i]);
    }
    id = shell_call(SHELL_START, (uint64_t)line.bytes, line.length, page);
    if (shell_failed(id)) {
        say("run: too many processes or words, or too little memory");
        return;
    }
    if (background) {
        line.length = 0;
        text_add(&line, "[%lu]\n", id);
        text_write(&line);
        return;
    }
    status = shell_call(SHELL_WAIT, id, 0, 0);
    if (status != 0) {
        line.bytes[line.length < sizeof(line.bytes) ? line.length : sizeof(line.bytes) - 1] = '\0';
        report_status(id, status, line.bytes);
    }
}

static void command_kill(const struct words *words)
{
    uint64_t id;

    if (words->count != 2 || !number_parse(words->word[1], &id))
        say("usage: kill ID");
    else if (shell_failed(shell_call(SHELL_KILL, id, 0, 0)))
        say_about(words->word[1], "no such process");
}

static void show_area(const struct shell_area *area)
{
    struct text text = {.length = 0};

    text_add(&text, "  0x%lx to 0x%lx", area->begin, area->end);
    text_pad(&text, 32);
    for (unsigned i = 0; i < 3; i++)
        text_add(&text, "%c", (area->permissions >> (1 + i) & 1) != 0 ? "rwx"[i] : '-');
    text_add(&text, "  pages of ");
    text_bytes(&text, area->page_bytes);
    text_add(&text, ", ");
    text_bytes(&text, area->resident_bytes);
    text_add(&text, " resident\n");
    text_write(&text);
}

static void command_mem(const struct words *words)
{
    struct text text = {.length = 0};
    struct shell_memory memory;
    struct shell_area area;

    (void)words;
    if (shell_failed(shell_call(SHELL_MEMORY, (uint64_t)&memory, 0, 0)))
        return;
    text_add(&text, "memory 0x%lx to 0x%lx: ", memory.begin, memory.end);
    text_bytes(&text, memory.end - memory.begin);
    text_add(&text, ", of which free ");
    text_bytes(&text, memory.free_bytes);
    text_add(&text, ", kernel's image ");
    text_bytes(&text, memory.image_bytes);
    text_add(&text, "\nthis process: tables ");
    text_bytes(&text, memory.table_bytes);
    text_add(&text, "\n");
    text_write(&text);
    for (uint64_t i = 0; i < memory.areas; i++)
        if (!shell_failed(shell_call(SHELL_AREA, i, (uint64_t)&area, 0)) && area.begin < area.end)
            show_area(&area);
}

static void command_tlb(const struct words *words)
{
    /* The order is the kernel's: shell-kernel/events.c. */
    static const char *const events[SHELL_EVENTS] = {
        "L1 misses of loads and stores", "L1 misses of fetches",  "L2 hits", "L2 misses", "walks",
        "references to guest tables",    "references to host tables",
    };
    static uint64_t before[SHELL_EVENTS];
    struct text text = {.length = 0};
    struct shell_tlb tlb;

    (void)words;
    if (shell_failed(shell_call(SHELL_TLB, (uint64_t)&tlb, 0, 0)))
        return;
    text_add(&text, "asid %lu of 1 to %lu, hart %lu of %lu\n", tlb.asid, tlb.last_asid, tlb.hart,
             tlb.harts);
    text_add(&text, "address space switches %lu, fences of a page %lu, of everything %lu\n",
             vos_count(VOS_SWITCHES), vos_count(VOS_FENCES), vos_count(VOS_PURGES));
    text_write(&text);
    if (tlb.has_events == 0) {
        say("no counters of misses: boot with --set sbi.pmu=true for them");
        return;
    }
    text_add(&text, "event");
    text_pad(&text, 39);
    text_add(&text, "in all since last time\n");
    text_write(&text);
    for (unsigned i = 0; i < SHELL_EVENTS; i++) {
        text_add(&text, "%s", events[i]);
        text_right(&text, 45, tlb.events[i]);
        text_right(&text, 61, tlb.events[i] - before[i]);
        text_add(&text, "\n");
        text_write(&text);
        before[i] = tlb.events[i];
    }
}

static void command_walk(const struct words *words)
{
    uint64_t virtual;

    if (words->count != 2 || !number_parse(words->word[1], &virtual))
        say("usage: walk ADDRESS (a number, or 0x and hexadecimal digits; mem shows what is mapped)");
    else
        walk_show(virtual);
}

static void command_help(const struct words *words);

static const struct {
    const char *name;
    const char *synopsis;
    const char *meaning;
    /* NULL ends the shell. */
    void (*run)(const struct words *words);
} commands[] = {
    {"help", "", "shows this", command_help},
    {"run", "WORKLOAD [OPTION=VALUE]... [&]", "runs a workload; Ctrl-C ends it", command_run_workload},
    {"ps", "", "shows the processes that were started", command_ps},
    {"kill", "ID", "ends one of them", command_kill},
    {"mem", "", "shows memory, and this process's areas of it", command_mem},
    {"tlb", "", "shows ASIDs, fences, and counters of misses", command_tlb},
    {"walk", "ADDRESS", "walks this process's page table", command_walk},
    {"exit", "", "shuts the machine down", NULL},
};

enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static void command_help(const struct words *words)
{
    (void)words;
    for (unsigned i = 0; i < COMMANDS; i++) {
        struct text text = {.length = 0};

        text_add(&text, "  %s %s", commands[i].name, commands[i].synopsis);
        text_pad(&text, 38);
        text_add(&text, "%s\n", commands[i].meaning);
        text_write(&text);
    }
    say("Workloads: gups, bfs, cg, stream, kv, sieve, triad, qsort, mcf and others; \"run help\" names their options.");
}

/* False when there are too many. */
static bool split(struct words *words, char *line)
{
    words->count = 0;
    for (;;) {
        while (*line == ' ')
            *line++ = '\0';
        if (*line == '\0')
            return true;
        if (words->count == WORDS)
            return false;
        words->word[words->count++] = line;
        while (*line != '\0' && *line != ' ')
            line++;
    }
}

bool command_run(char *line)
{
    struct words words;

    if (!split(&words, line)) {
        say("too many words");
        return true;
    }
    if (words.count == 0)
        return true;
    for (unsigned i = 0; i < COMMANDS; i++) {
        if (!string_equal(words.word[0], commands[i].name))
            continue;
        if (commands[i].run == NULL)
            return false;
        commands[i].run(&words);
        return true;
    }
    say_about(words.word[0], "no such command; help shows them");
    return true;
}
