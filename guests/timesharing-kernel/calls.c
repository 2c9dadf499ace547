/* System calls that vos does not have: sleeping, giving memory back, and what the accounts say. The first two are Linux's. */
#include "../vos/frames.h"
#include "../vos/memory.h"
#include "../vos/process.h"
#include "../vos/tlb.h"
#include "account.h"
#include "session.h"
#include "sleep.h"
#include "wrapped.h"

enum {
    SYSTEM_CLOCK_NANOSLEEP = 115,
    SYSTEM_MUNMAP = 215,
    /* Known to guests/timesharing/calls.c. */
    SYSTEM_ACCOUNT = 0x2000,
    SYSTEM_LOG_OFF,
};

enum { ERROR_FAULT = 14, ERROR_INVALID = 22 };

static uint64_t error(int number)
{
    return -(uint64_t)number;
}

/* a0: any clock, which counts from the start of the machine; a1: TIMER_ABSTIME; a2: a struct timespec. Another process may be current afterwards. */
static void sleep_to(struct process *process, uint64_t *a)
{
    enum { TIMER_ABSTIME = 1 };
    const uint64_t second = 1000000000, most_seconds = 1 << 20;
    uint64_t words[2];

    for (unsigned i = 0; i < 2; i++) {
        uint64_t at = a[2] + i * sizeof(uint64_t);
        const uint64_t *word =
            at % sizeof(uint64_t) == 0 ? space_user_pointer(&process->space, at, ACCESS_LOAD) : NULL;

        if (word == NULL) {
            a[0] = error(ERROR_FAULT);
            return;
        }
        words[i] = *word;
    }
    if (a[1] != TIMER_ABSTIME || words[0] > most_seconds || words[1] >= second) {
        a[0] = error(ERROR_INVALID);
        return;
    }
    a[0] = 0;
    sleep_until(sleep_units(words[0] * second + words[1]));
}

/* The leaf entry of a page of the heap; NULL where it was never used. */
static pte *leaf_of(struct space *space, uint64_t virtual)
{
    pte *entry = page_table_entry(space->table, virtual);

    return entry != NULL && *entry != 0 ? entry : NULL;
}

/* Gives back the last `bytes` of the heap, from `address` on. Whatever TLB may hold of them is purged before their frames can be used again. */
static bool unmap(struct space *space, uint64_t address, uint64_t bytes)
{
    struct area *heap = space->heap;

    if (bytes == 0 || bytes % PAGE_BYTES != 0 || bytes > heap->end - heap->begin || address != heap->end - bytes ||
        heap->page_size != PAGE_4K || space->region.begin != space->region.end)
        return false;
    heap->end = address;
    for (uint64_t page = address; page < address + bytes; page += PAGE_BYTES) {
        pte *entry = leaf_of(space, page);

        if (entry != NULL)
            *entry &= ~(pte)PTE_V;
    }
    tlb_flush_asid(space->asid);
    for (uint64_t page = address; page < address + bytes; page += PAGE_BYTES) {
        pte *entry = leaf_of(space, page);

        if (entry == NULL)
            continue;
        frames_give(pte_physical(*entry), ORDER_4K);
        *entry = 0;
    }
    return true;
}

void __wrap_syscall(struct process *process)
{
    uint64_t *a = &process->frame.x[REGISTER_A0];
    uint64_t number = process->frame.x[REGISTER_A7];

    account_call(number);
    switch (number) {
    case SYSTEM_CLOCK_NANOSLEEP:
        sleep_to(process, a);
        break;
    case SYSTEM_MUNMAP:
        a[0] = unmap(&process->space, a[0], a[1]) ? 0 : error(ERROR_INVALID);
        break;
    case SYSTEM_ACCOUNT:
        a[0] = account_calls_of(process->id);
        break;
    case SYSTEM_LOG_OFF:
        session_log_off((unsigned)a[0] & 0xff);
        break;
    default:
        __real_syscall(process);
        break;
    }
}
