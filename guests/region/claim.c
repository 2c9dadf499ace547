#include "claim.h"

#include "raw.h"
#include "registers.h"

#include <stddef.h>
#include <linux/mman.h>

/* Linux's values, which a freestanding build has no header for. */
enum { OPEN_READ_ONLY = 0, OPEN_DEVICE = 2 | 04010000, OPEN_CLOSE_ON_EXEC = 02000000 };
enum { STANDARD_ERROR = 2 };

/* Locked by the process that has the region, so that others need not ask the hypervisor for it. A POSIX lock is no child's, and ends with its process. A
 * process that closes all of its files loses it; a request after that is refused. */
#define TURN "/run/pagewalk-region"
enum { FIRST_TURN_FILE = 512, TURN_MODE = 0600, OPEN_TURN = 2 | 0100 };
enum { FCNTL_SET_LOCK = 6, FCNTL_DUPLICATE = 1030, LOCK_FOR_WRITING = 1 };

struct lock {
    short type;
    short whence;
    int64_t start;
    int64_t length;
    int process;
};

/* Where another process has the region: no failure, and the hypervisor's log has it. */
enum { REFUSED_NOT_OWNER = REGION_REFUSED + 5 };

void claim_say(const char *text, uint64_t number)
{
    static const char name[] = "pagewalk-region: ";
    char line[160];
    char digits[20];
    size_t length = 0;
    size_t count = 0;

    for (size_t i = 0; name[i] != '\0'; i++)
        line[length++] = name[i];
    for (size_t i = 0; text[i] != '\0' && length < sizeof(line) - sizeof(digits) - 1; i++)
        line[length++] = text[i];
    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    while (count > 0)
        line[length++] = digits[--count];
    line[length++] = '\n';
    RAW(RAW_WRITE, STANDARD_ERROR, (long)line, (long)length);
}

static int open_file(const char *path, int flags)
{
    return (int)RAW(RAW_OPENAT, RAW_CURRENT_DIRECTORY, (long)path, flags | OPEN_CLOSE_ON_EXEC);
}

static bool read_node(uint8_t *reg)
{
    int file = open_file(REGION_NODE, OPEN_READ_ONLY);
    bool whole;

    if (file < 0)
        return false;
    whole = RAW(RAW_READ, file, (long)reg, REGION_REG_BYTES) == REGION_REG_BYTES;
    RAW(RAW_CLOSE, file);
    return whole;
}

/* Whether no other process has the region, as far as the lock tells. The file stays open, out of the way of the program's own. */
static bool take_turn(void)
{
    struct lock lock = {.type = LOCK_FOR_WRITING};
    int low = (int)RAW(RAW_OPENAT, RAW_CURRENT_DIRECTORY, (long)TURN, OPEN_TURN | OPEN_CLOSE_ON_EXEC, TURN_MODE);
    int file = (int)RAW(RAW_FCNTL, low, FCNTL_DUPLICATE, FIRST_TURN_FILE);

    /* A root file system that takes no file has no turns. */
    if (low < 0)
        return true;
    if (file >= 0)
        RAW(RAW_CLOSE, low);
    else
        file = low;
    if (RAW(RAW_FCNTL, file, FCNTL_SET_LOCK, (long)&lock) == 0)
        return true;
    RAW(RAW_CLOSE, file);
    return false;
}

bool claim_is_there(void)
{
    uint8_t reg[REGION_REG_BYTES];

    return read_node(reg);
}

static bool set(volatile struct region_registers *registers, uint64_t memory, uint64_t bytes)
{
    uint64_t status;

    /* However a child is made, it has no part in the region but by a copy. */
    if (RAW(RAW_MADVISE, (long)memory, (long)bytes, MADV_DONTFORK) != 0 ||
        RAW(RAW_MADVISE, (long)registers, REGION_PAGE_BYTES, MADV_DONTFORK) != 0) {
        claim_say("the region cannot be kept from children: ", 0);
        return false;
    }
    status = region_set(registers, memory, bytes);
    if (status != REGION_SET && status != REFUSED_NOT_OWNER)
        claim_say("the segment is refused, status ", status);
    return status == REGION_SET;
}

static bool map(int device, const uint8_t *reg, uint64_t place, struct claimed *claimed)
{
    const int protection = PROT_READ | PROT_WRITE;
    long page = raw_map(0, REGION_PAGE_BYTES, protection, MAP_SHARED, device, (int64_t)region_reg(reg, 0));
    volatile struct region_registers *registers = (volatile struct region_registers *)page;
    long memory;

    if (raw_failed(page) || registers->magic != REGION_MAGIC || registers->bytes == 0)
        return false;
    claimed->bytes = registers->bytes;
    memory = raw_map(place, claimed->bytes, protection, MAP_SHARED | (place != 0 ? MAP_FIXED_NOREPLACE : 0), device,
                     (int64_t)registers->start);
    if (!raw_failed(memory)) {
        claimed->begin = (uint64_t)memory;
        if (set(registers, claimed->begin, claimed->bytes)) {
            claimed->used_before = registers->owners > 1;
            return true;
        }
        RAW(RAW_MUNMAP, memory, (long)claimed->bytes);
    } else {
        claim_say("the region cannot be mapped, error ", (uint64_t)-memory);
    }
    RAW(RAW_MUNMAP, page, REGION_PAGE_BYTES);
    return false;
}

bool claim_region(uint64_t place, struct claimed *claimed)
{
    uint8_t reg[REGION_REG_BYTES];
    int device;
    bool has;

    if (!read_node(reg) || !take_turn())
        return false;
    device = open_file(REGION_DEVICE, OPEN_DEVICE);
    if (device < 0) {
        claim_say("no " REGION_DEVICE ", error ", (uint64_t)-device);
        return false;
    }
    has = map(device, reg, place, claimed);
    RAW(RAW_CLOSE, device);
    return has;
}
