#include "account.h"

#include "../vos/csr.h"
#include "../vos/hart.h"
#include "../vos/process.h"
#include "../vos/spin.h"

enum { RECORDS = 64, ACCOUNTS = 1024, UNKNOWN = -1 };

static bool is_on;

static struct {
    /* Places that were claimed. More than RECORDS while a hart adds the records up. */
    unsigned claimed;
    /* Records that are whole. */
    unsigned written;
    /* Hart ID of the one that adds them up. */
    int64_t adder;
    struct {
        unsigned process;
        uint64_t call;
        uint64_t time;
    } records[RECORDS];
} buffer = {.adder = UNKNOWN};

/* By process, modulo their number. Only the hart that adds records up writes here. */
static struct {
    uint64_t calls;
    /* Of the latest. */
    uint64_t call;
    uint64_t time;
} accounts[ACCOUNTS];

void account_start(enum accounting wanted)
{
    is_on = wanted == ACCOUNTING_ON;
}

/* Adds up the first `count` records, which no other hart does meanwhile, and empties the buffer. */
static void add_up(unsigned count)
{
    /* Their writers are not known. */
    struct spin spin = {SPIN_PROCESS, UNKNOWN, 0};

    __atomic_store_n(&buffer.adder, (int64_t)hart_this()->id, __ATOMIC_RELAXED);
    while (__atomic_load_n(&buffer.written, __ATOMIC_ACQUIRE) != count)
        spin_once(&spin);
    for (unsigned i = 0; i < count; i++) {
        unsigned at = buffer.records[i].process % ACCOUNTS;

        accounts[at].calls++;
        accounts[at].call = buffer.records[i].call;
        accounts[at].time = buffer.records[i].time;
    }
    __atomic_store_n(&buffer.adder, UNKNOWN, __ATOMIC_RELAXED);
    __atomic_store_n(&buffer.written, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&buffer.claimed, 0, __ATOMIC_RELEASE);
}

static void wait_for_adder(void)
{
    struct spin spin = {SPIN_PROCESS, __atomic_load_n(&buffer.adder, __ATOMIC_RELAXED), 0};

    while (__atomic_load_n(&buffer.claimed, __ATOMIC_ACQUIRE) > RECORDS)
        spin_once(&spin);
}

/* Claims `places` of them. The first is the result; it is above RECORDS while another hart adds records up, and then none is claimed. */
static unsigned claim(unsigned places)
{
    for (;;) {
        unsigned first = __atomic_load_n(&buffer.claimed, __ATOMIC_ACQUIRE);

        if (first > RECORDS)
            return first;
        if (__atomic_compare_exchange_n(&buffer.claimed, &first, first + places, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_ACQUIRE))
            return first;
    }
}

void account_call(uint64_t call)
{
    if (!is_on)
        return;
    for (;;) {
        unsigned place = claim(1);

        if (place < RECORDS) {
            buffer.records[place].process = hart_this()->current->id;
            buffer.records[place].call = call;
            buffer.records[place].time = read_time();
            __atomic_fetch_add(&buffer.written, 1, __ATOMIC_RELEASE);
            return;
        }
        if (place == RECORDS)
            add_up(RECORDS);
        else
            wait_for_adder();
    }
}

uint64_t account_calls_of(unsigned id)
{
    unsigned place;

    if (!is_on)
        return 0;
    while ((place = claim(RECORDS + 1)) > RECORDS)
        wait_for_adder();
    add_up(place);
    return accounts[id % ACCOUNTS].calls;
}
