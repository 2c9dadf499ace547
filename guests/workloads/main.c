/* The multi-call program: `pagewalk-workloads NAME [key=value]...`. */
#include "workload.h"

#include "../common/bytes.h"
#include "../common/number.h"

/* Another program of the same sources has others (validation/programs.h). */
#ifndef WORKLOADS_OF_PROGRAM
#define WORKLOADS_OF_PROGRAM                                                                       \
    &workload_gups, &workload_bfs, &workload_cg, &workload_stream, &workload_kv, &workload_sieve,  \
        &workload_triad, &workload_triadp, &workload_qsort, &workload_mcf, &workload_jobs,         \
        &workload_dataset, &workload_io, &workload_remap
#endif

static const struct workload *const workloads[] = {WORKLOADS_OF_PROGRAM};

enum { WORKLOADS = sizeof(workloads) / sizeof(workloads[0]) };

static inline void spin_pause(void)
{
#ifdef __riscv
    __asm__ volatile(".insn i 0x0f, 0, x0, x0, 0x010" ::: "memory");
#else
    __asm__ volatile("" ::: "memory");
#endif
}

/* The commands that are not workloads. `argument` is NULL when none was given. */
static int command_hello(const char *argument)
{
    print("hello: ok%s%s\n", argument != NULL ? " " : "", argument != NULL ? argument : "");
    return OUTCOME_OK;
}

static int command_spin(const char *argument)
{
    (void)argument;
    for (;;)
        __asm__ volatile("");
    return OUTCOME_FAILED;
}

static int command_crash(const char *argument)
{
    /* Hidden from the compiler, which would rightly object. */
    volatile int *volatile nowhere = (volatile int *)8;

    (void)argument;
    *nowhere = 1;
    return OUTCOME_FAILED;
}

/* Tells the hypervisor that the user's command ended, and waits to be ended. */
static int command_exit(const char *argument)
{
    uint64_t status;

    if (argument == NULL || !number_parse(argument, &status) || status > 255)
        fail(OUTCOME_USAGE, "usage: exit STATUS (0 to 255)");
    marker_exit((unsigned)status);
    for (;;)
        spin_pause();
    return OUTCOME_FAILED;
}

/* Touches both ends of a mebibyte, and then, if asked, a byte of the user's choice behind its beginning. */
static int command_reach(const char *argument)
{
    enum { BYTES = 1 << 20 };
    volatile unsigned char *memory = memory_take(BYTES, ALIGN_PAGE);
    uint64_t offset = 0;

    if (argument != NULL && !number_parse(argument, &offset))
        fail(OUTCOME_USAGE, "usage: reach [OFFSET]");
    memory[0] = 1;
    memory[BYTES - 1] = 2;
    memory[offset] += 3;
    print("reach: ok %u %u\n", memory[0], memory[BYTES - 1]);
    return OUTCOME_OK;
}

static int command_roi(const char *argument)
{
    if (argument != NULL && string_equal(argument, "begin"))
        PAGEWALK_ROI_BEGIN();
    else if (argument != NULL && string_equal(argument, "end"))
        PAGEWALK_ROI_END();
    else
        fail(OUTCOME_USAGE, "usage: roi begin|end");
    return OUTCOME_OK;
}

static int command_marker(const char *argument)
{
    uint64_t number = 0;

    if (argument == NULL || !number_parse(argument, &number))
        fail(OUTCOME_USAGE, "usage: marker NUMBER");
    if (number == PAGEWALK_MARKER_ROI_BEGIN)
        PAGEWALK_ROI_BEGIN();
    else if (number == PAGEWALK_MARKER_ROI_END)
        PAGEWALK_ROI_END();
    else if (number >= PAGEWALK_MARKER_EXIT && number < PAGEWALK_MARKER_EXIT + 256)
        marker_exit((unsigned)(number - PAGEWALK_MARKER_EXIT));
    else
        fail(OUTCOME_USAGE, "marker %lu: must be 1, 2 or 256 to 511", number);
    return OUTCOME_OK;
}

static const struct {
    const char *name;
    const char *synopsis;
    int (*run)(const char *argument);
} commands[] = {
    {"hello", "prints a line", command_hello},
    {"spin", "loops for ever", command_spin},
    {"crash", "stores to an unmapped address", command_crash},
    {"reach", "[OFFSET]: touches both ends of a mebibyte, and the byte at an offset from its beginning",
     command_reach},
    {"exit", "STATUS: marks that the command ended with this status, then pauses for ever",
     command_exit},
    {"roi", "begin|end: marks the region of interest", command_roi},
    {"marker", "NUMBER: executes slti x0, x0, NUMBER", command_marker},
};

enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static int usage(void)
{
    print("usage: pagewalk-workloads NAME [size=] [iterations=] [updates=] [seed=] [page=]"
          " [spaces=] [frames=] [common=]"
          " [section=] [role=]\n");
    for (size_t i = 0; i < WORKLOADS; i++)
        print("  %s: %s\n", workloads[i]->name, workloads[i]->synopsis);
    print("or: pagewalk-workloads COMMAND [ARGUMENT]\n");
    for (size_t i = 0; i < COMMANDS; i++)
        print("  %s: %s\n", commands[i].name, commands[i].synopsis);
    return OUTCOME_USAGE;
}

static void parse_number(const char *argument, const char *text, uint64_t *value)
{
    if (!number_parse(text, value))
        fail(OUTCOME_USAGE, "%s: not a number", argument);
}

static enum memory_pages parse_pages(const char *argument, const char *text)
{
    if (string_equal(text, "4K"))
        return MEMORY_PAGES_4K;
    if (string_equal(text, "2M"))
        return MEMORY_PAGES_2M;
    if (string_equal(text, "1G"))
        return MEMORY_PAGES_1G;
    fail(OUTCOME_USAGE, "%s: must be 4K, 2M or 1G", argument);
}

static enum option parse_option(const char *argument, struct options *options)
{
    const char *value;

    if ((value = string_after_prefix(argument, "size=")) != NULL) {
        options->size = value;
        return OPTION_SIZE;
    }
    if ((value = string_after_prefix(argument, "iterations=")) != NULL) {
        parse_number(argument, value, &options->iterations);
        return OPTION_ITERATIONS;
    }
    if ((value = string_after_prefix(argument, "updates=")) != NULL) {
        parse_number(argument, value, &options->updates);
        return OPTION_UPDATES;
    }
    if ((value = string_after_prefix(argument, "seed=")) != NULL) {
        parse_number(argument, value, &options->seed);
        return OPTION_SEED;
    }
    if ((value = string_after_prefix(argument, "page=")) != NULL) {
        memory_set_pages(parse_pages(argument, value));
        return OPTION_PAGE;
    }
    if ((value = string_after_prefix(argument, "spaces=")) != NULL) {
        options->spaces = value;
        return OPTION_SPACES;
    }
    if ((value = string_after_prefix(argument, "frames=")) != NULL) {
        parse_number(argument, value, &options->frames);
        return OPTION_FRAMES;
    }
    if ((value = string_after_prefix(argument, "common=")) != NULL) {
        parse_number(argument, value, &options->common);
        return OPTION_COMMON;
    }
    if ((value = string_after_prefix(argument, "section=")) != NULL) {
        options->section = value;
        return OPTION_SECTION;
    }
    if ((value = string_after_prefix(argument, "role=")) != NULL) {
        options->role = value;
        return OPTION_ROLE;
    }
    fail(OUTCOME_USAGE, "%s: unknown option", argument);
}

static int run_workload(const struct workload *workload, int count, char **arguments)
{
    struct options options = {0};

    for (int i = 0; i < count; i++)
        if ((parse_option(arguments[i], &options) & (workload->takes | OPTION_PAGE)) == 0)
            fail(OUTCOME_USAGE, "%s: %s: not an option of this workload", workload->name,
                 arguments[i]);
    return (int)workload->run(&options);
}

int program_main(int argc, char **argv);

/* Called by start.S; the result is the exit status. */
int program_main(int argc, char **argv)
{
    if (argc < 2)
        return usage();
    for (size_t i = 0; i < COMMANDS; i++)
        if (string_equal(argv[1], commands[i].name))
            return commands[i].run(argc > 2 ? argv[2] : NULL);
    for (size_t i = 0; i < WORKLOADS; i++)
        if (string_equal(argv[1], workloads[i]->name))
            return run_workload(workloads[i], argc - 2, argv + 2);
    print("pagewalk-workloads: %s: no such workload\n", argv[1]);
    return usage();
}
