/* An `ecall` has four bytes, which is room for a jump over a mebibyte at most, and none of its registers is free. So each has an island near the
 * program's code: it saves ra on the stack, calls calls_enter, and jumps back behind the ecall. Where calls_enter declines, the island makes the call
 * itself without a stack, because the child of a clone may have another. */
#include "islands.h"

#include "../region/raw.h"

#include <linux/mman.h>

void calls_enter(void);

enum { ISLAND_BYTES = 48, JUMP_REACH = 1 << 20 };

static uint32_t jump(uint64_t from, uint64_t to)
{
    uint32_t offset = (uint32_t)(to - from);

    return 0x6f | (offset >> 20 & 1) << 31 | (offset >> 1 & 0x3ff) << 21 | (offset >> 11 & 1) << 20 |
           (offset >> 12 & 0xff) << 12;
}

static void write_word(uint64_t at, uint32_t instruction)
{
    /* Code is aligned to half words. */
    ((volatile uint16_t *)at)[0] = (uint16_t)instruction;
    ((volatile uint16_t *)at)[1] = (uint16_t)(instruction >> 16);
}

static void write_island(uint64_t at, uint64_t site)
{
    /* Of two compressed instructions each: addi sp, sp, -16; sd ra, 0(sp), and ld ra, 0(sp); addi sp, sp, 16. */
    enum { PUSH = 0xe0061141, POP = 0x01416082 };
    enum { AUIPC_RA = 0x97, LOAD_RA_FROM_RA = 0xb083, JALR_RA_RA = 0x80e7, ECALL = 0x73 };
    enum { ADDRESS = 40 };

    write_word(at, PUSH);
    write_word(at + 4, AUIPC_RA);
    write_word(at + 8, LOAD_RA_FROM_RA | (ADDRESS - 4) << 20);
    write_word(at + 12, JALR_RA_RA);
    /* Where calls_enter returns to: done. */
    write_word(at + 16, POP);
    write_word(at + 20, jump(at + 20, site + 4));
    /* And 8 behind that: declined. */
    write_word(at + 24, POP);
    write_word(at + 28, ECALL);
    write_word(at + 32, jump(at + 32, site + 4));
    *(volatile uint64_t *)(at + ADDRESS) = (uint64_t)calls_enter;
}

static bool reaches(uint64_t place, const struct sites *sites)
{
    uint64_t end = place + sites->count * ISLAND_BYTES;

    for (size_t i = 0; i < sites->count; i++) {
        uint64_t site = sites->call[i];
        uint64_t furthest = site < place ? end - site : site - place;

        if (furthest >= JUMP_REACH - ISLAND_BYTES)
            return false;
    }
    return true;
}

uint64_t islands_place(const struct program *program, const struct sites *sites, bool *behind)
{
    uint64_t bytes = sites->count * ISLAND_BYTES;
    uint64_t end = 0;

    *behind = false;
    for (uint64_t i = 0; i < program->count; i++) {
        const struct elf_segment *segment = &program->segments[i];
        uint64_t above = program->bias + segment->address + segment->memory_bytes;
        uint64_t rest = (program->bias + segment->address + segment->file_bytes + 7) & ~(uint64_t)7;

        if (segment->type != SEGMENT_LOAD)
            continue;
        end = above > end ? page_above(above) : end;
        if ((segment->flags & SEGMENT_EXECUTE) != 0 && page_above(rest) - rest >= bytes && reaches(rest, sites))
            return rest;
    }
    *behind = true;
    return reaches(end, sites) ? end : 0;
}

/* Gives the program's code other rights. */
static bool protect(const struct program *program, bool writable)
{
    for (uint64_t i = 0; i < program->count; i++) {
        const struct elf_segment *segment = &program->segments[i];
        uint64_t begin = page_of(program->bias + segment->address);
        uint64_t end = page_above(program->bias + segment->address + segment->file_bytes);
        int rights = (segment->flags & SEGMENT_READ) != 0 ? PROT_READ : 0;

        if (segment->type != SEGMENT_LOAD || (segment->flags & SEGMENT_EXECUTE) == 0)
            continue;
        rights |= writable || (segment->flags & SEGMENT_WRITE) != 0 ? PROT_WRITE : 0;
        rights |= writable ? PROT_READ : PROT_EXEC;
        if (RAW(RAW_MPROTECT, (long)begin, (long)(end - begin), rights) != 0)
            return false;
        if (!writable)
            RAW(RAW_FLUSH_ICACHE, (long)begin, (long)end, 0);
    }
    return true;
}

bool islands_make(const struct program *program, const struct sites *sites, uint64_t place, bool behind)
{
    const int anonymous = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    uint64_t bytes = page_above(sites->count * ISLAND_BYTES);

    if (behind && raw_map(place, bytes, PROT_READ | PROT_WRITE, anonymous, -1, 0) != (long)place)
        return false;
    if (!protect(program, true)) {
        protect(program, false);
        return false;
    }
    for (size_t i = 0; i < sites->count; i++) {
        uint64_t island = place + i * ISLAND_BYTES;

        write_island(island, sites->call[i]);
        write_word(sites->call[i], jump(sites->call[i], island));
    }
    if (behind) {
        RAW(RAW_MPROTECT, (long)place, (long)bytes, PROT_READ | PROT_EXEC);
        RAW(RAW_FLUSH_ICACHE, (long)place, (long)(place + bytes), 0);
    }
    return protect(program, false);
}
