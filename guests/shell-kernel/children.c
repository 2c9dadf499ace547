#include "children.h"

#include "../common/bytes.h"
#include "../vos/console.h"
#include "../vos/frames.h"
#include "../vos/hart.h"
#include "../vos/panic.h"
#include "../vos/process.h"
#include "../vos/sched.h"
#include "../vos/timer.h"
#include "keyboard.h"
#include "tables.h"
#include "wrapped.h"

enum { ERROR_NO_CHILD = 10 };

/* More than a process takes before its program runs: tables, a stack page of 2M and one for its alignment. */
enum { LEAST_FREE_BYTES = 8 << 20 };

static struct child {
    enum shell_state state;
    unsigned id;
    unsigned status;
    /* NULL once it has ended. */
    struct process *process;
    bool is_to_die;
    uint64_t begin;
    uint64_t end;
    struct options options;
    /* What the options point into, and the line as it was. */
    char words[SHELL_LINE_BYTES];
    char line[SHELL_LINE_BYTES];
} children[SHELL_PROCESSES];

/* The shell, while it waits for `awaited`. */
static struct process *waiting;
static struct child *awaited;

static struct child *child_of(uint64_t id)
{
    for (unsigned i = 0; i < SHELL_PROCESSES; i++)
        if (children[i].state != SHELL_FREE && children[i].id == id)
            return &children[i];
    return NULL;
}

/* Only the shell makes children, so a free one stays free. */
static struct child *free_child(void)
{
    for (unsigned i = 0; i < SHELL_PROCESSES; i++)
        if (children[i].state == SHELL_FREE)
            return &children[i];
    return NULL;
}

/* Splits `words`, in place. False when there are too many. */
static bool split(struct options *options, char *words)
{
    options->argument_count = 1;
    while (*words != '\0') {
        if (options->argument_count == OPTIONS_ARGUMENTS - 1)
            return false;
        options->arguments[options->argument_count++] = words;
        while (*words != '\0' && *words != ' ')
            words++;
        if (*words == ' ')
            *words++ = '\0';
    }
    return true;
}

uint64_t children_start(const struct process *shell, const char line[SHELL_LINE_BYTES],
                        enum page_size page)
{
    struct child *child = free_child();
    struct process *process;
    uint64_t id;

    if (child == NULL || frames_free_bytes() < LEAST_FREE_BYTES)
        return 0;
    memcpy(child->line, line, SHELL_LINE_BYTES);
    memcpy(child->words, line, SHELL_LINE_BYTES);
    child->options = *shell->options;
    child->options.page = page;
    if (!split(&child->options, child->words))
        return 0;
    process = process_create(&child->options);
    id = process->id;
    sched_lock();
    child->id = process->id;
    child->process = process;
    child->is_to_die = false;
    child->begin = timer_nanoseconds();
    child->state = SHELL_READY;
    sched_unlock();
    sched_add(process);
    return id;
}

void children_wait(struct process *shell, uint64_t id)
{
    uint64_t *result = &shell->frame.x[REGISTER_A0];
    struct child *child;

    sched_lock();
    child = child_of(id);
    if (child != NULL && child->state == SHELL_READY) {
        waiting = shell;
        awaited = child;
        /* The user may be faster than the shell. */
        child->is_to_die = child->is_to_die || keyboard_take_interrupt();
        /* Unlocks. */
        sched_wait(NULL);
        return;
    }
    *result = -(uint64_t)ERROR_NO_CHILD;
    if (child != NULL) {
        *result = child->status;
        child->state = SHELL_FREE;
    }
    sched_unlock();
}

bool children_kill(uint64_t id)
{
    struct child *child;

    sched_lock();
    child = child_of(id);
    if (child != NULL && child->state != SHELL_READY)
        child = NULL;
    if (child != NULL)
        child->is_to_die = true;
    sched_unlock();
    return child != NULL;
}

bool children_interrupt(void)
{
    if (awaited == NULL)
        return false;
    awaited->is_to_die = true;
    return true;
}

void children_describe(unsigned index, struct shell_process *described)
{
    const struct child *child = &children[index];

    *described = (struct shell_process){.state = SHELL_FREE};
    sched_lock();
    if (child->state != SHELL_FREE) {
        described->id = child->id;
        described->state = child->state;
        described->status = child->status;
        described->nanoseconds =
            (child->state == SHELL_ENDED ? child->end : timer_nanoseconds()) - child->begin;
        memcpy(described->line, child->line, SHELL_LINE_BYTES);
    }
    if (child->process != NULL) {
        described->asid = child->process->space.asid;
        described->resident_bytes = tables_resident_bytes(&child->process->space);
        described->table_bytes = tables_bytes(&child->process->space);
    }
    sched_unlock();
}

/* Wakes the shell if it waits for this. With the lock held, which is given up. */
static void announce(struct child *child)
{
    struct process *shell = waiting;

    if (awaited != child) {
        sched_unlock();
        return;
    }
    child->state = SHELL_FREE;
    shell->frame.x[REGISTER_A0] = child->status;
    awaited = NULL;
    waiting = NULL;
    sched_wake(shell);
}

void __wrap_sched_exit(unsigned status)
{
    const struct process *process = hart_this()->current;
    struct child *child;

    if (process->id == SHELL_PROCESS_ID)
        shut_down(status);
    sched_lock();
    child = child_of(process->id);
    if (child == NULL) {
        sched_unlock();
    } else {
        child->state = SHELL_ENDED;
        child->status = status;
        child->process = NULL;
        child->end = timer_nanoseconds();
        announce(child);
    }
    /* The status was the shell's to have. */
    __real_sched_exit(0);
}

static bool is_to_die(const struct process *process)
{
    const struct child *child;
    bool dies;

    sched_lock();
    child = child_of(process->id);
    dies = child != NULL && child->process == process && child->is_to_die;
    sched_unlock();
    return dies;
}

void __wrap_trap_from_user(void)
{
    __real_trap_from_user();
    while (is_to_die(hart_this()->current))
        __wrap_sched_exit(SHELL_STATUS_INTERRUPTED);
}
