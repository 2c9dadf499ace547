#include "phases.h"

#include "../common/marker.h"
#include "../vos/csr.h"
#include "../vos/platform.h"
#include "../vos/process.h"
#include "../vos/spin.h"
#include "links.h"
#include "map_lock.h"
#include "wrapped.h"

enum {
    /* Known to guests/servers/calls.c. */
    SYSTEM_PHASE = 0x3000,
    SYSTEM_COPY_LINKS,
};

enum { ERROR_INVALID = 22 };

/* Only the launcher's hart, or the one that ends the machine, changes phases. */
static struct {
    enum phase phase;
    uint64_t time;
    struct map_lock_counts lock;
} begun;

/* Processes that end, and those of them that have given their memory back. */
static unsigned ending;
static unsigned destroyed;

static uint64_t nanoseconds(uint64_t time)
{
    const uint64_t second = 1000000000;

    return time / platform.timebase_hertz * second +
           time % platform.timebase_hertz * second / platform.timebase_hertz;
}

static void report_start(uint64_t time, struct map_lock_counts lock)
{
    PAGEWALK_FIGURE("start_ns", nanoseconds(time));
    PAGEWALK_FIGURE("start_lock_takes", lock.takes);
    PAGEWALK_FIGURE("start_lock_waits", lock.waits);
    PAGEWALK_FIGURE("start_lock_waited_ns", nanoseconds(lock.time_waited));
    PAGEWALK_FIGURE("start_lock_held_ns", nanoseconds(lock.time_held));
}

static void report_stop(uint64_t time, struct map_lock_counts lock)
{
    PAGEWALK_FIGURE("stop_ns", nanoseconds(time));
    PAGEWALK_FIGURE("stop_lock_takes", lock.takes);
    PAGEWALK_FIGURE("stop_lock_waits", lock.waits);
    PAGEWALK_FIGURE("stop_lock_waited_ns", nanoseconds(lock.time_waited));
    PAGEWALK_FIGURE("stop_lock_held_ns", nanoseconds(lock.time_held));
}

/* Reports the phase that ends, and begins `next`. */
static void change_to(enum phase next)
{
    uint64_t time = read_time();
    struct map_lock_counts lock = map_lock_counts();
    struct map_lock_counts since = {
        .takes = lock.takes - begun.lock.takes,
        .waits = lock.waits - begun.lock.waits,
        .time_waited = lock.time_waited - begun.lock.time_waited,
        .time_held = lock.time_held - begun.lock.time_held,
    };

    if (begun.phase == PHASE_START)
        report_start(time - begun.time, since);
    if (begun.phase == PHASE_STOP)
        report_stop(time - begun.time, since);
    begun.phase = next;
    begun.lock = lock;
    begun.time = read_time();
}

void __wrap_sched_exit(unsigned status)
{
    __atomic_fetch_add(&ending, 1, __ATOMIC_RELAXED);
    __real_sched_exit(status);
}

void phases_count_destroyed(void)
{
    __atomic_fetch_add(&destroyed, 1, __ATOMIC_RELEASE);
}

void __wrap_shut_down(unsigned status)
{
    struct spin spin = {SPIN_PROCESS, -1, 0};

    /* The hart that ends the last process may be done before others. */
    while (__atomic_load_n(&destroyed, __ATOMIC_ACQUIRE) != __atomic_load_n(&ending, __ATOMIC_RELAXED))
        spin_once(&spin);
    /* Servers that could not start leave the launcher waiting: then there is nothing to report. */
    if (begun.phase == PHASE_STOP)
        change_to(PHASE_BETWEEN);
    __real_shut_down(status);
}

void __wrap_syscall(struct process *process)
{
    uint64_t *a = &process->frame.x[REGISTER_A0];

    switch (process->frame.x[REGISTER_A7]) {
    case SYSTEM_PHASE:
        if (a[0] >= PHASES) {
            a[0] = -(uint64_t)ERROR_INVALID;
            break;
        }
        change_to((enum phase)a[0]);
        a[0] = 0;
        break;
    case SYSTEM_COPY_LINKS:
        links_start_copying();
        a[0] = 0;
        break;
    default:
        __real_syscall(process);
        break;
    }
}
