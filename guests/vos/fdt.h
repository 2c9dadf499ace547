/* Reader of flattened device trees: Devicetree Specification 0.4, chapter 5. Trusts the blob's
 * offsets to lie within its total size, which fdt_open checks. */
#ifndef VOS_FDT_H
#define VOS_FDT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fdt {
    const uint8_t *blob;
    uint32_t bytes;
    uint32_t structure;
    uint32_t structure_end;
    uint32_t strings;
};

/* Offset of a node's FDT_BEGIN_NODE token; FDT_NO_NODE for none. */
typedef uint32_t fdt_node;
#define FDT_NO_NODE UINT32_MAX

struct fdt_property {
    /* NULL when the node has no such property. */
    const uint8_t *value;
    uint32_t length;
};

bool fdt_open(struct fdt *fdt, const void *blob);
fdt_node fdt_root(const struct fdt *fdt);
fdt_node fdt_first_child(const struct fdt *fdt, fdt_node node);
fdt_node fdt_next_sibling(const struct fdt *fdt, fdt_node node);
/* The node after `node` in document order, whatever its depth. */
fdt_node fdt_next_node(const struct fdt *fdt, fdt_node node);
/* A child by name; a unit address ("@80000000") is ignored. */
fdt_node fdt_child(const struct fdt *fdt, fdt_node node, const char *name);
struct fdt_property fdt_property(const struct fdt *fdt, fdt_node node, const char *name);

/* A big-endian number of `cells` (1 or 2) cells, beginning at cell `index`; 0 beyond the end. */
uint64_t fdt_number(struct fdt_property property, unsigned index, unsigned cells);
/* As a string, "" when absent or not terminated. */
const char *fdt_string(struct fdt_property property);
/* True when one of the strings in the list is `wanted`. */
bool fdt_lists(struct fdt_property property, const char *wanted);

#endif
