/* Fork of a process that has the region.
 *
 * The region is mapped in a way that no child inherits (MADV_DONTFORK): however a child is made, it never shares the region's memory with its
 * parent. The child of a fork gets a copy: the parent copies what is taken to private memory before the kernel forks, and the child moves that to
 * where the region was. There it is memory like any other: the segment stays the parent's. The copy is made in a handler of pthread_atfork that runs
 * behind everybody else's, so that allocators hold their locks and what they keep in the region is in order; and undone before anybody else's.
 *
 * The C library's fork touches what is its own, such as streams, in the child before it calls handlers. If that lies in the region, because an
 * allocator has its memory from there, the access fails, and the copy is moved then. */
#define _GNU_SOURCE
#include "region.h"

#include "claim.h"
#include "copy.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void (*fork_handler)(void);
typedef int (*register_atfork)(fork_handler prepare, fork_handler parent, fork_handler child, void *object);

/* Of a fork that is being made, with the region's lock held. */
static struct {
    long copy;
    pid_t parent;
    struct sigaction segv;
    bool guarded;
} now;

static void segv(int signal, siginfo_t *info, void *context)
{
    (void)context;
    if (getpid() != now.parent && region_is_the_machines && region_holds(info->si_addr)) {
        copy_move_in(now.copy);
        return;
    }
    /* Not ours: it happens again, for its handler. */
    sigaction(signal, &now.segv, NULL);
}

static void prepare(void)
{
    struct sigaction action = {.sa_sigaction = segv, .sa_flags = SA_SIGINFO};

    region_lock();
    now.guarded = region_is_the_machines;
    if (!now.guarded)
        return;
    now.parent = getpid();
    now.copy = copy_take();
    sigaction(SIGSEGV, &action, &now.segv);
}

static void in_parent(void)
{
    if (now.guarded) {
        sigaction(SIGSEGV, &now.segv, NULL);
        copy_drop(now.copy);
    }
    region_unlock();
}

static void in_child(void)
{
    if (now.guarded) {
        copy_move_in(now.copy);
        sigaction(SIGSEGV, &now.segv, NULL);
    }
    region_unlock();
}

/* Handlers run before a fork in the reverse order of their registration, and behind it in that order. Ours have to be the first: the
 * registration of others comes by here. */
void fork_start(void)
{
    static bool started;
    register_atfork next;

    if (started)
        return;
    started = true;
    next = (register_atfork)dlsym(RTLD_NEXT, "__register_atfork");
    if (next == NULL || next(prepare, in_parent, in_child, NULL) != 0)
        claim_say("no handlers of fork, error ", ENOMEM);
}

/* What pthread_atfork of any program calls. */
PUBLIC int __register_atfork(fork_handler before, fork_handler parent, fork_handler child, void *object)
{
    register_atfork next = (register_atfork)dlsym(RTLD_NEXT, "__register_atfork");

    fork_start();
    return next != NULL ? next(before, parent, child, object) : ENOMEM;
}

/* In bytes; everything if the kernel does not say. */
static uint64_t memory_available(void)
{
    static const char name[] = "MemAvailable:";
    char text[256];
    int file = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
    ssize_t length = file >= 0 ? read(file, text, sizeof(text) - 1) : 0;
    const char *line;

    if (file >= 0)
        close(file);
    text[length > 0 ? length : 0] = '\0';
    line = strstr(text, name);
    return line != NULL ? strtoull(line + sizeof(name) - 1, NULL, 10) << 10 : UINT64_MAX;
}

static uint64_t bytes_taken(void)
{
    uint64_t bytes = 0;

    region_lock();
    for (size_t i = 0; i < region_extents.count; i++)
        bytes += region_extents.taken[i].end - region_extents.taken[i].begin;
    region_unlock();
    return bytes;
}

/* Without memory for the copy there is no child, as without memory for the kernel's own tables. */
PUBLIC pid_t fork(void)
{
    pid_t (*next)(void) = (pid_t(*)(void))dlsym(RTLD_NEXT, "fork");

    if (region_is_the_machines && bytes_taken() > memory_available()) {
        errno = ENOMEM;
        return -1;
    }
    return next();
}
