/* Test-and-test-and-set lock. Who waits spins as spin.h says. The kernel runs with interrupts off, so no holder is interrupted. */
#ifndef VOS_SPINLOCK_H
#define VOS_SPINLOCK_H

#include "spin.h"

#include <stdbool.h>

struct spinlock {
    unsigned held;
};

static inline bool spinlock_try(struct spinlock *lock)
{
    return __atomic_exchange_n(&lock->held, 1, __ATOMIC_ACQUIRE) == 0;
}

static inline void spinlock_lock(struct spinlock *lock)
{
    struct spin spin = {SPIN_LOCK, -1, 0};

    while (!spinlock_try(lock))
        while (__atomic_load_n(&lock->held, __ATOMIC_RELAXED) != 0)
            spin_once(&spin);
}

static inline void spinlock_unlock(struct spinlock *lock)
{
    __atomic_store_n(&lock->held, 0, __ATOMIC_RELEASE);
}

#endif
