#include "section.h"

#include "../common/bytes.h"
#include "linux.h"
#include "vos.h"
#include "workload.h"

enum { MOST_SECTIONS = 8 };

static uint64_t big_endian(const unsigned char *bytes)
{
    uint64_t number = 0;

    for (unsigned i = 0; i < sizeof(number); i++)
        number = number << 8 | bytes[i];
    return number;
}

/* Whether section number `number` of Linux's device tree has this name; then where it is, and its bytes. */
static bool find(unsigned number, const char *name, uint64_t where[2])
{
    char label_path[] = "/proc/device-tree/sections/section-0/label";
    char reg_path[] = "/proc/device-tree/sections/section-0/reg";
    enum { DIGIT = sizeof("/proc/device-tree/sections/section-") - 1, LABEL_BYTES = 44 };
    size_t length = string_length(name) + 1;
    char label[LABEL_BYTES] = {0};
    unsigned char reg[16];

    label_path[DIGIT] = reg_path[DIGIT] = (char)('0' + number);
    if (length > LABEL_BYTES || !linux_read_file(label_path, label, length) ||
        memcmp(label, name, length) != 0 || !linux_read_file(reg_path, reg, sizeof(reg)))
        return false;
    where[0] = big_endian(reg);
    where[1] = big_endian(reg + 8);
    return true;
}

static void *take_from_linux(const char *name, uint64_t *bytes)
{
    for (unsigned number = 0; number < MOST_SECTIONS; number++) {
        uint64_t where[2];
        int memory;

        if (!find(number, name, where))
            continue;
        memory = linux_open("/dev/mem");
        if (memory < 0)
            fail(OUTCOME_FAILED, "section %s: cannot open /dev/mem", name);
        void *section = linux_map_file(memory, where[0], *bytes == 0 ? where[1] : *bytes);
        *bytes = where[1];
        return section;
    }
    return NULL;
}

void *section_take(const char *name, bool write, uint64_t *bytes)
{
    void *section =
        vos_is_there() ? vos_section(name, write, bytes) : take_from_linux(name, bytes);

    if (section == NULL)
        fail(OUTCOME_FAILED, "section %s: not there, or it cannot be mapped", name);
    return section;
}
