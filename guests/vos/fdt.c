#include "fdt.h"

#include "../common/bytes.h"

enum {
    FDT_MAGIC = 0xd00dfeed,
    FDT_BEGIN_NODE = 1,
    FDT_END_NODE = 2,
    FDT_PROP = 3,
    FDT_NOP = 4,
};

enum { CELL = 4 };

static uint32_t big_endian(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static uint32_t round_to_cell(uint32_t value)
{
    return (value + CELL - 1) & ~(uint32_t)(CELL - 1);
}

bool fdt_open(struct fdt *fdt, const void *blob)
{
    uint32_t structure_bytes;

    fdt->blob = blob;
    if (big_endian(fdt->blob) != FDT_MAGIC)
        return false;
    fdt->bytes = big_endian(fdt->blob + 4);
    fdt->structure = big_endian(fdt->blob + 8);
    fdt->strings = big_endian(fdt->blob + 12);
    structure_bytes = big_endian(fdt->blob + 36);
    fdt->structure_end = fdt->structure + structure_bytes;
    return fdt->strings < fdt->bytes && fdt->structure <= fdt->structure_end &&
           fdt->structure_end <= fdt->bytes;
}

/* The token at `at`, or FDT_END_NODE beyond the end, so that every loop over tokens ends. */
static uint32_t token(const struct fdt *fdt, uint32_t at)
{
    return at + CELL <= fdt->structure_end ? big_endian(fdt->blob + at) : FDT_END_NODE;
}

static const char *node_name(const struct fdt *fdt, fdt_node node)
{
    return (const char *)fdt->blob + node + CELL;
}

/* First token inside a node: past its name. */
static uint32_t node_body(const struct fdt *fdt, fdt_node node)
{
    return node + CELL + round_to_cell((uint32_t)string_length(node_name(fdt, node)) + 1);
}

static uint32_t skip_property(const struct fdt *fdt, uint32_t at)
{
    return at + 3 * CELL + round_to_cell(big_endian(fdt->blob + at + CELL));
}

/* The first token from `at` on that is neither a property nor a NOP. */
static uint32_t skip_properties(const struct fdt *fdt, uint32_t at)
{
    for (;;) {
        switch (token(fdt, at)) {
        case FDT_PROP:
            at = skip_property(fdt, at);
            break;
        case FDT_NOP:
            at += CELL;
            break;
        default:
            return at;
        }
    }
}

fdt_node fdt_root(const struct fdt *fdt)
{
    uint32_t at = skip_properties(fdt, fdt->structure);

    return token(fdt, at) == FDT_BEGIN_NODE ? at : FDT_NO_NODE;
}

fdt_node fdt_first_child(const struct fdt *fdt, fdt_node node)
{
    uint32_t at = skip_properties(fdt, node_body(fdt, node));

    return token(fdt, at) == FDT_BEGIN_NODE ? at : FDT_NO_NODE;
}

fdt_node fdt_next_node(const struct fdt *fdt, fdt_node node)
{
    uint32_t at = node_body(fdt, node);

    for (;;) {
        at = skip_properties(fdt, at);
        if (token(fdt, at) == FDT_BEGIN_NODE)
            return at;
        if (token(fdt, at) != FDT_END_NODE || at >= fdt->structure_end)
            return FDT_NO_NODE;
        at += CELL;
    }
}

fdt_node fdt_next_sibling(const struct fdt *fdt, fdt_node node)
{
    uint32_t at = node_body(fdt, node);
    unsigned depth = 1;

    while (at < fdt->structure_end) {
        at = skip_properties(fdt, at);
        if (token(fdt, at) == FDT_BEGIN_NODE) {
            if (depth == 0)
                return at;
            depth++;
            at = node_body(fdt, at);
        } else if (depth == 0) {
            return FDT_NO_NODE;
        } else {
            depth--;
            at += CELL;
        }
    }
    return FDT_NO_NODE;
}

fdt_node fdt_child(const struct fdt *fdt, fdt_node node, const char *name)
{
    fdt_node child = fdt_first_child(fdt, node);

    for (; child != FDT_NO_NODE; child = fdt_next_sibling(fdt, child)) {
        const char *rest = string_after_prefix(node_name(fdt, child), name);

        if (rest != NULL && (*rest == '\0' || *rest == '@'))
            return child;
    }
    return FDT_NO_NODE;
}

struct fdt_property fdt_property(const struct fdt *fdt, fdt_node node, const char *name)
{
    uint32_t at = node_body(fdt, node);

    for (;;) {
        switch (token(fdt, at)) {
        case FDT_PROP: {
            uint32_t offset = fdt->strings + big_endian(fdt->blob + at + 2 * CELL);

            if (offset < fdt->bytes && string_equal((const char *)fdt->blob + offset, name))
                return (struct fdt_property){fdt->blob + at + 3 * CELL,
                                             big_endian(fdt->blob + at + CELL)};
            at = skip_property(fdt, at);
            break;
        }
        case FDT_NOP:
            at += CELL;
            break;
        default:
            return (struct fdt_property){NULL, 0};
        }
    }
}

uint64_t fdt_number(struct fdt_property property, unsigned index, unsigned cells)
{
    uint64_t number = 0;

    if (property.value == NULL || (index + cells) * CELL > property.length)
        return 0;
    for (unsigned i = index; i < index + cells; i++)
        number = number << 32 | big_endian(property.value + i * CELL);
    return number;
}

const char *fdt_string(struct fdt_property property)
{
    if (property.value == NULL || property.length == 0 ||
        property.value[property.length - 1] != '\0')
        return "";
    return (const char *)property.value;
}

bool fdt_lists(struct fdt_property property, const char *wanted)
{
    const char *s = fdt_string(property);
    const char *end = (const char *)property.value + property.length;

    if (*s == '\0')
        return false;
    for (; s < end; s += string_length(s) + 1)
        if (string_equal(s, wanted))
            return true;
    return false;
}
