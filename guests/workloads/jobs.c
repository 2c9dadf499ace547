/* Jobs in address spaces of their own, time-sliced, that call a control space: the load under which
 * Umeno et al. 1985 measured (section 5.3: a data base management system's control space, and its batch
 * message processing programs). On vos only.
 *
 * The first process is the control space. In each phase so many spaces are active, the control space
 * included: it starts the jobs that are missing, and those that are too many end. A job does one step in
 * a phase: it takes a segment, works on it and on the common segment, calls the control space after
 * each round, checks all that it wrote, and gives the segment back. The control space answers calls
 * with work on a segment of its own. Frames are fewer than pages, so that vos pages.
 *
 * size:       bytes of each space's segment
 * spaces:     active spaces in each phase, with commas between
 * frames:     frames of 4 KiB that all segments together may hold
 * common:     bytes of the common segment
 * iterations: rounds of each step
 * updates:    touches of each round */
#include "jobs.h"

#include "vos.h"

enum { DEFAULT_BYTES = 512 << 10, DEFAULT_COMMON_BYTES = 128 << 10 };
enum { DEFAULT_ROUNDS = 100, DEFAULT_TOUCHES = 256 };
enum { LEAST_SPACES = 2 };

static const char DEFAULT_SPACES[] = "4,7,4";

struct plan plan;

static void add_phase(uint64_t spaces)
{
    if (spaces < LEAST_SPACES || spaces > MOST_SPACES || plan.phases == MOST_PHASES)
        fail(OUTCOME_USAGE, "spaces=: must be up to %d numbers in %d to %d, with commas between",
             MOST_PHASES, LEAST_SPACES, MOST_SPACES);
    plan.spaces[plan.phases++] = (unsigned)spaces;
    if (spaces > plan.most_spaces)
        plan.most_spaces = (unsigned)spaces;
}

static void read_spaces(const char *text)
{
    do {
        uint64_t spaces = 0;

        while (*text >= '0' && *text <= '9' && spaces <= MOST_SPACES)
            spaces = spaces * 10 + (uint64_t)(*text++ - '0');
        add_phase(*text == ',' || *text == '\0' ? spaces : 0);
    } while (*text++ == ',');
}

static uint64_t pages_of(const char *name, uint64_t bytes, uint64_t most)
{
    if (bytes < PAGE_BYTES || bytes > most * PAGE_BYTES)
        fail(OUTCOME_USAGE, "%s=%lu: must be in %d to %lu", name, bytes, PAGE_BYTES,
             most * PAGE_BYTES);
    return (bytes + PAGE_BYTES - 1) / PAGE_BYTES;
}

static uint64_t or_default(uint64_t given, uint64_t otherwise)
{
    return given != 0 ? given : otherwise;
}

static void make_plan(const struct options *options)
{
    uint64_t bytes = option_size(options, DEFAULT_BYTES, 0, UINT64_MAX);
    uint64_t least_frames;
    uint64_t all_pages;

    read_spaces(options->spaces != NULL ? options->spaces : DEFAULT_SPACES);
    plan.pages = pages_of("size", bytes, MOST_PAGES);
    plan.common_pages =
        pages_of("common", or_default(options->common, DEFAULT_COMMON_BYTES), MOST_COMMON_PAGES);
    plan.rounds = or_default(options->iterations, DEFAULT_ROUNDS);
    plan.touches = or_default(options->updates, DEFAULT_TOUCHES);
    plan.seed = options->seed;
    /* With fewer, a page could be gone again whenever the space that waited for it comes to run. */
    least_frames = 2 * plan.most_spaces;
    all_pages = plan.most_spaces * plan.pages + plan.common_pages;
    plan.frames = options->frames;
    if (plan.frames == 0)
        plan.frames = all_pages * 3 / 4 > least_frames ? all_pages * 3 / 4 : least_frames;
    if (plan.frames < least_frames)
        fail(OUTCOME_USAGE, "frames=%lu: must be at least %lu, two for each space", plan.frames,
             least_frames);
}

static enum outcome run(const struct options *options)
{
    enum { FIRST_PROCESS = 1 };

    if (!vos_is_there())
        fail(OUTCOME_FAILED, "jobs: FAILED this kernel is not vos, whose system calls it needs");
    make_plan(options);
    return vos_process() == FIRST_PROCESS ? jobs_control() : jobs_job();
}

const struct workload workload_jobs = {
    .name = "jobs",
    .synopsis = "jobs that page and call a control space, on vos; size of each segment",
    .takes = OPTION_SIZE | OPTION_SPACES | OPTION_FRAMES | OPTION_COMMON | OPTION_ITERATIONS |
             OPTION_UPDATES | OPTION_SEED,
    .run = run,
};
