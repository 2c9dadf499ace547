/* The interpreter of static programs: the kernel starts it in the place of a dynamic linker, which they have not. It brings a program's large memory
 * into the primary region: its uninitialized data, its heap, and the anonymous mappings that it asks for. Where the machine has no region, or
 * another process has it, the program runs as it would without. */
#include "heap.h"
#include "islands.h"
#include "program.h"
#include "sites.h"

#include "../common/bytes.h"
#include "../common/number.h"
#include "../region/claim.h"
#include "../region/raw.h"
#include "../region/region.h"

#include <linux/mman.h>

/* Uninitialized data of less than that is not worth a place for the region. */
enum { LEAST_DATA = 128 << 10 };

enum { AUX_NULL, AUX_SEGMENTS = 3, AUX_SEGMENT_COUNT = 5, AUX_BASE = 7, AUX_ENTRY = 9 };

struct auxiliary {
    uint64_t type;
    uint64_t value;
};

uint64_t loader_start(uint64_t *stack);

/* Fills in what the kernel says of the program behind its environment, and takes back that it has an interpreter. */
static void read_auxiliary(struct auxiliary *auxiliary, struct program *program)
{
    enum { ELF_HEADER_BYTES = 64 };

    for (; auxiliary->type != AUX_NULL; auxiliary++) {
        switch (auxiliary->type) {
        case AUX_SEGMENTS:
            program->segments = (const struct elf_segment *)auxiliary->value;
            break;
        case AUX_SEGMENT_COUNT:
            program->count = auxiliary->value;
            break;
        case AUX_BASE:
            auxiliary->value = 0;
            break;
        case AUX_ENTRY:
            program->entry = auxiliary->value;
            break;
        default:
            break;
        }
    }
    /* Headers follow that of the file, in the segment that begins with it. */
    for (uint64_t i = 0; i < program->count; i++)
        if (program->segments[i].type == SEGMENT_LOAD && program->segments[i].offset == 0)
            program->bias = (uint64_t)program->segments - ELF_HEADER_BYTES - program->segments[i].address;
}

static const char *environment(char *const *variables, const char *prefix)
{
    for (; *variables != NULL; variables++) {
        const char *value = string_after_prefix(*variables, prefix);

        if (value != NULL)
            return value;
    }
    return NULL;
}

/* The pages of uninitialized data alone, which are still zero. Empty when they are few. */
static void find_data(const struct program *program, uint64_t *begin, uint64_t *end)
{
    *begin = *end = 0;
    for (uint64_t i = 0; i < program->count; i++) {
        const struct elf_segment *segment = &program->segments[i];
        uint64_t from = page_above(program->bias + segment->address + segment->file_bytes);
        uint64_t to = page_above(program->bias + segment->address + segment->memory_bytes);

        if (segment->type == SEGMENT_LOAD && (segment->flags & SEGMENT_WRITE) != 0 && to > from &&
            to - from >= LEAST_DATA) {
            *begin = from;
            *end = to;
        }
    }
}

/* Comes to the region, in the place of the data if there are any, as far as it goes. Bytes of the region that are data. */
static bool claim(uint64_t data, uint64_t data_end, uint64_t *below)
{
    const int anonymous = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    uint64_t covered = data;

    *below = 0;
    if (data == data_end)
        return region_claim(0);
    RAW(RAW_MUNMAP, (long)data, (long)(data_end - data));
    if (region_claim(data))
        covered = region_extents.end < data_end ? region_extents.end : data_end;
    if (covered < data_end)
        raw_map(covered, data_end - covered, PROT_READ | PROT_WRITE, anonymous, -1, 0);
    *below = covered - data;
    return region_is_the_machines;
}

static void start(const struct program *program, char *const *variables)
{
    struct sites sites = {.count = 0};
    const char *text = environment(variables, "PAGEWALK_REGION_THRESHOLD=");
    uint64_t least = 0;
    uint64_t data;
    uint64_t data_end;
    uint64_t below;
    uint64_t place;
    bool behind;

    if (!claim_is_there())
        return;
    for (uint64_t i = 0; i < program->count; i++) {
        const struct elf_segment *segment = &program->segments[i];
        uint64_t begin = program->bias + segment->address;

        if (segment->type == SEGMENT_LOAD && (segment->flags & SEGMENT_EXECUTE) != 0)
            sites_find(&sites, begin, begin + segment->file_bytes);
    }
    place = islands_place(program, &sites, &behind);
    if (sites.count == 0 || place == 0)
        return;
    find_data(program, &data, &data_end);
    /* The page of islands would be in the region's place. */
    if (behind)
        data = data_end;
    if (text == NULL || !number_parse(text, &least))
        least = 0;
    region_start(least);
    if (!claim(data, data_end, &below))
        return;
    heap_start(below);
    islands_make(program, &sites, place, behind);
}

uint64_t loader_start(uint64_t *stack)
{
    struct program program = {.count = 0};
    char *const *variables = (char *const *)(stack + stack[0] + 2);
    char *const *last = variables;

    while (*last != NULL)
        last++;
    read_auxiliary((struct auxiliary *)(last + 1), &program);
    start(&program, variables);
    return program.entry;
}
