#include "message.h"

#include "hart.h"
#include "sched.h"

/* All guarded by the scheduler's lock. */
static struct process *server;
/* The server waits for a call. */
static bool receiving;
/* Processes whose calls the server has not yet received, oldest first, and those that wait for an answer. */
static struct process *calling;
static struct process *answerless;

static void deliver(struct process *caller)
{
    uint64_t *a = &server->frame.x[REGISTER_A0];

    a[0] = caller->id;
    for (unsigned i = 0; i < MESSAGE_WORDS; i++)
        a[1 + i] = caller->message[i];
    caller->next = answerless;
    answerless = caller;
}

static void append(struct process *caller)
{
    struct process **link = &calling;

    while (*link != NULL)
        link = &(*link)->next;
    caller->next = NULL;
    *link = caller;
}

void message_call(const uint64_t words[MESSAGE_WORDS])
{
    struct process *caller = hart_this()->current;

    for (unsigned i = 0; i < MESSAGE_WORDS; i++)
        caller->message[i] = words[i];
    sched_lock();
    if (receiving) {
        receiving = false;
        deliver(caller);
        sched_wait(server);
    } else {
        append(caller);
        sched_wait(NULL);
    }
}

bool message_receive(void)
{
    struct process *process = hart_this()->current;

    sched_lock();
    if (server == NULL)
        server = process;
    if (server != process) {
        sched_unlock();
        return false;
    }
    if (calling != NULL) {
        struct process *caller = calling;

        calling = caller->next;
        deliver(caller);
        sched_unlock();
    } else {
        receiving = true;
        sched_wait(NULL);
    }
    return true;
}

bool message_reply(unsigned caller, uint64_t first, uint64_t second)
{
    struct process **link = &answerless;
    struct process *process;

    sched_lock();
    while (*link != NULL && (*link)->id != caller)
        link = &(*link)->next;
    process = *link;
    if (process == NULL || server != hart_this()->current) {
        sched_unlock();
        return false;
    }
    *link = process->next;
    process->frame.x[REGISTER_A0] = first;
    process->frame.x[REGISTER_A0 + 1] = second;
    sched_wake(process);
    return true;
}
