#include "region.h"

#include "../region/registers.h"
#include "linux.h"

/* What is left of the region. */
static uint64_t next;
static uint64_t end;
static bool looked;

static bool map(void)
{
    uint8_t reg[REGION_REG_BYTES];
    volatile struct region_registers *registers;
    uint64_t bytes;
    void *memory;
    int device;

    if (!linux_read_file(REGION_NODE, reg, sizeof(reg)))
        return false;
    device = linux_open(REGION_DEVICE);
    if (device < 0)
        return false;
    registers = linux_map_file(device, region_reg(reg, 0), REGION_PAGE_BYTES);
    if (registers == NULL || registers->magic != REGION_MAGIC)
        return false;
    bytes = registers->bytes;
    memory = linux_map_file(device, registers->start, bytes);
    /* Memory of another process would have to be cleared: this one does without. */
    if (memory == NULL || registers->owners != 0 ||
        region_set(registers, (uint64_t)memory, bytes) != REGION_SET)
        return false;
    next = (uint64_t)memory;
    end = next + bytes;
    return true;
}

void *region_take(size_t bytes, size_t alignment)
{
    uint64_t at;

    if (!looked) {
        looked = true;
        map();
    }
    at = (next + alignment - 1) & ~(uint64_t)(alignment - 1);
    if (at < next || at > end || bytes > end - at)
        return NULL;
    next = at + bytes;
    return (void *)at;
}
