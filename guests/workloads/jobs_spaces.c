/* The control space and the job of workload jobs. */
#include "jobs.h"

#include "vos.h"

/* What a call asks of the control space: its first word. */
enum request {
    /* The caller is a new job. Answer: its space's number, and the number of its first step. */
    REQUEST_HELLO,
    /* Touch the page in the second word. Answer: what was written, and the version. */
    REQUEST_TOUCH,
    /* A step is done, of the space in the second word. Answer: whether there is another; its number. */
    REQUEST_STEP_DONE,
    /* The job ends. */
    REQUEST_END,
};

static struct vos_answer call_control(enum request request, uint64_t word)
{
    return vos_call((uint64_t[]){request, word, 0});
}

static uint64_t control_seed(void)
{
    return mix64(plan.seed);
}

/* Seven of eight touches fall into a quarter of the segment, which moves on by a page each round. */
static uint64_t choose_page(struct random *random, uint64_t round)
{
    uint64_t draw = random_next(random);
    uint64_t window = plan.pages >= 4 ? plan.pages / 4 : 1;

    return draw % 8 == 0 ? (draw >> 3) % plan.pages : (round + (draw >> 3) % window) % plan.pages;
}

static void ask_control(uint64_t space, uint64_t page)
{
    struct vos_answer answer = call_control(REQUEST_TOUCH, page);
    uint64_t expected = store_value(control_seed(), page, answer.words[1]);

    if (answer.words[0] != expected)
        jobs_fail(space, "the control space's answer", page, answer.words[0], expected);
}

static void do_step(uint64_t space, uint64_t step)
{
    uint64_t seed = mix64(plan.seed ^ mix64(space << 32 | step));
    struct store store = store_new(seed, space);
    struct random random = {seed};

    for (uint64_t round = 0; round < plan.rounds; round++) {
        for (uint64_t i = 0; i < plan.touches; i++)
            store_touch(&store, choose_page(&random, round));
        common_touch(space, random_next(&random) % plan.common_pages);
        ask_control(space, random_next(&random) % plan.pages);
    }
    store_check(&store);
    store_release(&store);
}

enum outcome jobs_job(void)
{
    struct vos_answer answer = call_control(REQUEST_HELLO, 0);
    uint64_t space = answer.words[0];

    common_take(space);
    do {
        do_step(space, answer.words[1]);
        answer = call_control(REQUEST_STEP_DONE, space);
    } while (answer.words[0] != 0);
    common_leave(space);
    call_control(REQUEST_END, 0);
    return OUTCOME_OK;
}

struct control {
    struct store store;
    unsigned phase;
    /* Spaces that are active, this one included; they have the numbers from 0. */
    unsigned spaces;
    /* Jobs that have said hello, that have done this phase's step, and that have ended, of all time. */
    unsigned greeted;
    unsigned done;
    unsigned ended;
    /* The process of each space whose step is done. */
    uint64_t waiting[MOST_SPACES];
    uint64_t touches;
};

static void answer(uint64_t process, uint64_t first, uint64_t second)
{
    if (!vos_reply(process, (struct vos_answer){{first, second}}))
        fail(OUTCOME_FAILED, "jobs: FAILED process %lu takes no answer", process);
}

static void serve_one(struct control *control)
{
    struct vos_message call;
    struct touched touched;

    if (!vos_receive(&call))
        fail(OUTCOME_FAILED, "jobs: FAILED another process receives");
    switch (call.words[0]) {
    case REQUEST_HELLO:
        if (control->greeted == control->spaces)
            fail(OUTCOME_FAILED, "jobs: FAILED process %lu is a job too many: procs= must be 1",
                 call.caller);
        answer(call.caller, control->greeted++, control->phase);
        return;
    case REQUEST_TOUCH:
        touched = store_touch(&control->store, call.words[1]);
        common_touch(CONTROL_SPACE, control->touches++ % plan.common_pages);
        answer(call.caller, touched.value, touched.version);
        return;
    case REQUEST_STEP_DONE:
        control->waiting[call.words[1]] = call.caller;
        control->done++;
        return;
    case REQUEST_END:
        answer(call.caller, 0, 0);
        control->ended++;
        return;
    }
    fail(OUTCOME_FAILED, "jobs: FAILED process %lu asks for %lu", call.caller, call.words[0]);
}

/* Serves until each job has done its step. */
static void run_phase(struct control *control)
{
    for (; control->spaces < plan.spaces[control->phase]; control->spaces++)
        vos_start();
    while (control->done < control->spaces - 1)
        serve_one(control);
    control->done = 0;
}

/* Lets the first `stay` spaces go on, and the others end, so that their numbers are free. */
static void end_phase(struct control *control, unsigned stay)
{
    unsigned ended = control->spaces - stay;

    control->phase++;
    for (unsigned space = 1; space < control->spaces; space++)
        answer(control->waiting[space], space < stay, control->phase);
    control->ended = 0;
    while (control->ended < ended)
        serve_one(control);
    control->spaces = stay;
    control->greeted = stay;
}

static void print_plan(void)
{
    print("jobs: ok spaces=");
    for (unsigned i = 0; i < plan.phases; i++)
        print("%s%u", i == 0 ? "" : ",", plan.spaces[i]);
    print(" pages=%lu common=%lu frames=%lu rounds=%lu", plan.pages, plan.common_pages, plan.frames,
          plan.rounds);
}

enum { COUNTERS = VOS_PURGES + 1 };

static void read_counters(uint64_t counts[COUNTERS])
{
    for (unsigned i = 0; i < COUNTERS; i++)
        counts[i] = vos_count(i);
}

static void print_counters(const uint64_t before[COUNTERS], const uint64_t after[COUNTERS])
{
    static const char *const names[] = {"switches", "page_outs", "page_ins",
                                        "pptlbs",   "fences",    "purges"};

    for (unsigned i = 0; i < COUNTERS; i++)
        print(" %s=%lu", names[i], after[i] - before[i]);
}

/* Jobs that are in the middle of a step when another phase's jobs end go on meanwhile: serve_one answers
 * the caller. */
enum outcome jobs_control(void)
{
    struct control control = {.spaces = 1, .greeted = 1};
    uint64_t before[COUNTERS];
    uint64_t after[COUNTERS];
    uint64_t elapsed;

    if (!vos_set_frames(plan.frames))
        fail(OUTCOME_FAILED, "jobs: FAILED frames=%lu: no memory to keep account of them",
             plan.frames);
    control.store = store_new(control_seed(), CONTROL_SPACE);
    common_take(CONTROL_SPACE);
    common_fill();

    read_counters(before);
    elapsed = region_begin();
    for (;;) {
        run_phase(&control);
        if (control.phase + 1 == plan.phases)
            break;
        end_phase(&control, plan.spaces[control.phase + 1] < control.spaces
                                ? plan.spaces[control.phase + 1]
                                : control.spaces);
    }
    elapsed = region_end(elapsed);
    read_counters(after);

    end_phase(&control, 1);
    store_check(&control.store);
    common_leave(CONTROL_SPACE);
    print_plan();
    print(" touches=%lu", control.touches);
    print_counters(before, after);
    print(" ns=%lu\n", elapsed);
    return OUTCOME_OK;
}
