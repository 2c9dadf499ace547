#include "walk.h"

#include "calls.h"

enum { FLAGS = 8, V = 0x01, R = 0x02, W = 0x04, X = 0x08 };

/* A number with all its digits. */
static void add_hex(struct text *text, uint64_t number, unsigned digits)
{
    text_add(text, "0x");
    while (digits-- > 0)
        text_add(text, "%c", "0123456789abcdef"[number >> (4 * digits) & 15]);
}

/* D A G U X W R V, as the specification orders them. */
static void add_flags(struct text *text, uint64_t entry)
{
    for (unsigned i = 0; i < FLAGS; i++)
        text_add(text, "%c", (entry >> i & 1) != 0 ? "vrwxugad"[i] : '-');
}

/* Bits above those that the table translates are all as the highest of these. */
static bool is_canonical(uint64_t virtual, uint64_t levels)
{
    unsigned unused = 64 - (12 + 9 * (unsigned)levels);

    return (uint64_t)((int64_t)(virtual << unused) >> unused) == virtual;
}

static bool is_leaf(uint64_t entry)
{
    return (entry & (R | W | X)) != 0;
}

static void show_step(struct text *text, uint64_t virtual, uint64_t level, const struct shell_step *step)
{
    static const char *const sizes[] = {"4K", "2M", "1G", "512G", "256T"};
    uint64_t offset_bits = 12 + 9 * level;
    uint64_t next = step->entry >> 10 << 12;

    text_add(text, "  level %lu, entry ", level);
    text_right(text, 20, virtual >> offset_bits & 511);
    text_add(text, " at 0x%lx: ", step->address);
    add_hex(text, step->entry, 16);
    text_add(text, " ");
    add_flags(text, step->entry);
    if ((step->entry & V) == 0)
        text_add(text, ", not valid\n");
    else if (is_leaf(step->entry))
        text_add(text, ", page of %s at 0x%lx\n", sizes[level], next);
    else
        text_add(text, ", table at 0x%lx\n", next);
    text_write(text);
}

void walk_show(uint64_t virtual)
{
    struct text text = {.length = 0};
    struct shell_step step;
    uint64_t level;

    if (shell_failed(shell_call(SHELL_STEP, virtual, (uint64_t)&step, 0)))
        return;
    if (!is_canonical(virtual, step.levels)) {
        text_add(&text, "walk: 0x%lx is no address of sv%lu\n", virtual, 12 + 9 * step.levels);
        text_write(&text);
        return;
    }
    text_add(&text, "sv%lu, asid %lu, root table at 0x%lx\n", 12 + 9 * step.levels, step.asid, step.root);
    text_write(&text);
    for (uint64_t below = 0;; below++) {
        level = step.levels - 1 - below;
        show_step(&text, virtual, level, &step);
        if ((step.entry & V) == 0 || is_leaf(step.entry) || level == 0)
            break;
        if (shell_failed(shell_call(SHELL_STEP, virtual, (uint64_t)&step, below + 1)))
            return;
    }
    if ((step.entry & V) != 0 && is_leaf(step.entry)) {
        uint64_t mask = ((uint64_t)1 << (12 + 9 * level)) - 1;

        text_add(&text, "0x%lx is at guest physical 0x%lx\n", virtual,
                 ((step.entry >> 10 << 12) & ~mask) | (virtual & mask));
    } else {
        text_add(&text, "0x%lx is not mapped\n", virtual);
    }
    text_write(&text);
}
