/* A site is an `ecall` that is reached from a load of a7 with the number of such a call, along code that does not branch away for good. That is how
 * compilers and libraries write system calls. A number that is in no such pair is not found, and its call goes to the kernel as ever. */
#include "sites.h"

#include "../region/raw.h"

#include <stdbool.h>

enum { ECALL = 0x73, A7 = 17 };
/* Instructions between the two. */
enum { REACH = 24 };

static uint32_t half(uint64_t address)
{
    return *(const uint16_t *)address;
}

static uint32_t word(uint64_t address)
{
    return half(address) | half(address + 2) << 16;
}

static unsigned length(uint64_t address)
{
    return (half(address) & 3) == 3 ? 4 : 2;
}

static bool is_memory_call(uint32_t number)
{
    switch (number) {
    case RAW_BRK:
    case RAW_MUNMAP:
    case RAW_MREMAP:
    case RAW_CLONE:
    case RAW_MMAP:
    case RAW_MADVISE:
        return true;
    default:
        return false;
    }
}

/* `li a7, NUMBER` of one of them: addi a7, zero, NUMBER. */
static bool loads_number(uint32_t instruction)
{
    return (instruction & 0xfffff) == (A7 << 7 | 0x13) && is_memory_call(instruction >> 20);
}

/* Whether code behind a compressed instruction does not follow it, or finds something else in a7. */
static bool short_ends(uint32_t instruction)
{
    unsigned function = instruction >> 13;
    unsigned rd = instruction >> 7 & 31;
    unsigned rs2 = instruction >> 2 & 31;

    switch (instruction & 3) {
    case 1:
        return function == 5 || (function < 4 && rd == A7);
    case 2:
        if (function == 4 && rs2 == 0)
            return true;
        return function < 5 && function != 1 && rd == A7;
    default:
        /* Of x8 to x15 alone. */
        return false;
    }
}

/* The same of one of 32 bits. */
static bool long_ends(uint32_t instruction)
{
    enum { LOAD_FP = 0x07, STORE = 0x23, STORE_FP = 0x27, BRANCH = 0x63, JALR = 0x67, JAL = 0x6f };
    unsigned opcode = instruction & 0x7f;

    switch (opcode) {
    case JAL:
    case JALR:
        return true;
    case LOAD_FP:
    case STORE:
    case STORE_FP:
    case BRANCH:
        return false;
    default:
        return (instruction >> 7 & 31) == A7;
    }
}

static bool ends(uint64_t at)
{
    return length(at) == 4 ? long_ends(word(at)) : short_ends(half(at));
}

static void add(struct sites *sites, uint64_t call)
{
    for (size_t i = 0; i < sites->count; i++)
        if (sites->call[i] == call)
            return;
    if (sites->count < MOST_SITES)
        sites->call[sites->count++] = call;
}

void sites_find(struct sites *sites, uint64_t begin, uint64_t end)
{
    for (uint64_t at = begin; at + 4 <= end; at += 2) {
        uint64_t next = at + 4;

        if (!loads_number(word(at)))
            continue;
        /* The kernel leaves a7 as it is, so that one load may serve several calls. */
        for (unsigned i = 0; i < REACH && next + 4 <= end && !ends(next); i++) {
            if (word(next) == ECALL)
                add(sites, next);
            next += length(next);
        }
    }
}
