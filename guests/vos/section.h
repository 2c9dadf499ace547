/* Sections: memory outside RAM that the machine shares with other guests, by name (Noel and Karkhanis 1998). It stays where it is: a
 * process that maps a section has all of it at once, at the same addresses as every other, and never faults on it.
 *
 * Processes that may write share the leaf tables of a section, as guests share those of the hypervisor; each that may only read has tables of
 * its own, because rights are in the entries. */
#ifndef VOS_SECTION_H
#define VOS_SECTION_H

#include "fdt.h"
#include "page_table.h"

struct space;

enum section_tables {
    SECTION_TABLES_SHARED,
    SECTION_TABLES_PRIVATE,
};

/* What the device tree says of them. */
void section_read(const struct fdt *fdt, fdt_node root);
/* Whether leaf tables are shared, where pages of `page` have any. */
void section_start(enum section_tables tables, enum page_size page);

struct section_request {
    /* Ends with a zero byte. */
    const char *name;
    /* Whether the pages can be written to; whether the section can is the hypervisor's to say. */
    bool write;
    /* 0 for all; more than there are is tried, for tests of a hypervisor. */
    uint64_t bytes;
};

/* Lets `space` into a section. Its address, and its bytes by the device tree; 0 when there is none of that name, when the space has it
 * already, or when memory for tables is short. */
uint64_t section_map(struct space *space, const struct section_request *request, uint64_t *bytes);
/* What a process may ask of the hypervisor, in the order of enum vos_section_request. */
enum section_operation {
    SECTION_UNMAP,
    SECTION_MAP,
    SECTION_MAP_TO_READ,
    SECTION_DELETE,
};

/* Asks the hypervisor concerning a section: to be mapped at guest physical `at`, where 0 is where it was. Tables of spaces are as they were, and lead
 * there if it moves. The SBI error, 0 for none; 1 when there is no section of that name. */
int64_t section_ask(const char *name, enum section_operation operation, uint64_t at);
/* Takes `space` out of all sections. The space's ASID is to be flushed afterwards. */
void section_leave(struct space *space);

#endif
