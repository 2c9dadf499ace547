#include "platform.h"

#include "../common/bytes.h"
#include "fdt.h"
#include "memory.h"
#include "panic.h"
#include "section.h"

struct platform platform;

static void reserve(uint64_t begin, uint64_t end)
{
    if (begin >= end)
        return;
    if (platform.reserved_count == PLATFORM_RESERVED)
        panic("device tree: more than %d reserved ranges", PLATFORM_RESERVED);
    platform.reserved[platform.reserved_count++] = (struct range){begin, end};
}

static void copy_string(char *to, size_t bytes, const char *from)
{
    size_t length = string_length(from);

    if (length >= bytes)
        panic("device tree: string of %lu bytes is too long", length);
    memcpy(to, from, length + 1);
}

static unsigned cells(const struct fdt *fdt, fdt_node node, const char *name, unsigned otherwise)
{
    struct fdt_property property = fdt_property(fdt, node, name);

    return property.value != NULL ? (unsigned)fdt_number(property, 0, 1) : otherwise;
}

/* Entry `number` of a node's `reg`, whose parent is `parent`. */
static struct range reg_number(const struct fdt *fdt, fdt_node parent, fdt_node node, unsigned number)
{
    unsigned address_cells = cells(fdt, parent, "#address-cells", 2);
    unsigned size_cells = cells(fdt, parent, "#size-cells", 1);
    unsigned first = number * (address_cells + size_cells);
    struct fdt_property property = fdt_property(fdt, node, "reg");
    uint64_t begin = fdt_number(property, first, address_cells);

    return (struct range){begin, begin + fdt_number(property, first + address_cells, size_cells)};
}

/* The first entry. */
static struct range reg(const struct fdt *fdt, fdt_node parent, fdt_node node)
{
    return reg_number(fdt, parent, node, 0);
}

static void read_memory(const struct fdt *fdt, fdt_node root)
{
    fdt_node memory = fdt_child(fdt, root, "memory");
    fdt_node reserved = fdt_child(fdt, root, "reserved-memory");

    if (memory == FDT_NO_NODE)
        panic("device tree: no memory node");
    platform.memory = reg(fdt, root, memory);
    if (IMAGE_BASE < platform.memory.begin || IMAGE_BASE >= platform.memory.end)
        panic("memory %lx to %lx does not hold the image", platform.memory.begin,
              platform.memory.end);
    if (platform.memory.end > LINEAR_BYTES)
        platform.memory.end = LINEAR_BYTES;
    if (reserved == FDT_NO_NODE)
        return;
    for (fdt_node node = fdt_first_child(fdt, reserved); node != FDT_NO_NODE;
         node = fdt_next_sibling(fdt, node)) {
        struct range range = reg(fdt, reserved, node);

        reserve(range.begin, range.end);
    }
}

/* An address that is one cell or two, as its property's length says. */
static uint64_t any_number(struct fdt_property property)
{
    return fdt_number(property, 0, property.length == 4 ? 1 : 2);
}

static void read_chosen(const struct fdt *fdt, fdt_node root)
{
    fdt_node chosen = fdt_child(fdt, root, "chosen");

    if (chosen == FDT_NO_NODE)
        return;
    copy_string(platform.bootargs, sizeof(platform.bootargs),
                fdt_string(fdt_property(fdt, chosen, "bootargs")));
    reserve(any_number(fdt_property(fdt, chosen, "linux,initrd-start")),
            any_number(fdt_property(fdt, chosen, "linux,initrd-end")));
}

/* Does an ISA string such as "rv64imafdc_zicsr_sstc" name an extension of several letters? */
static bool isa_names(const char *isa, const char *extension)
{
    for (; *isa != '\0'; isa++) {
        const char *rest = *isa == '_' ? string_after_prefix(isa + 1, extension) : NULL;

        if (rest != NULL && (*rest == '\0' || *rest == '_'))
            return true;
    }
    return false;
}

static bool has_extension(const struct fdt *fdt, fdt_node cpu, const char *extension)
{
    return fdt_lists(fdt_property(fdt, cpu, "riscv,isa-extensions"), extension) ||
           isa_names(fdt_string(fdt_property(fdt, cpu, "riscv,isa")), extension);
}

static void read_cpus(const struct fdt *fdt, fdt_node root)
{
    fdt_node cpus = fdt_child(fdt, root, "cpus");

    if (cpus == FDT_NO_NODE)
        panic("device tree: no cpus node");
    platform.timebase_hertz = any_number(fdt_property(fdt, cpus, "timebase-frequency"));
    platform.sstc = true;
    for (fdt_node cpu = fdt_first_child(fdt, cpus); cpu != FDT_NO_NODE;
         cpu = fdt_next_sibling(fdt, cpu)) {
        const char *status = fdt_string(fdt_property(fdt, cpu, "status"));

        if (!string_equal(fdt_string(fdt_property(fdt, cpu, "device_type")), "cpu") ||
            (*status != '\0' && !string_equal(status, "okay")) ||
            platform.hart_count == PLATFORM_HARTS)
            continue;
        platform.hart_ids[platform.hart_count++] = reg(fdt, cpus, cpu).begin;
        platform.sstc = platform.sstc && has_extension(fdt, cpu, "sstc");
        copy_string(platform.mmu_type, sizeof(platform.mmu_type),
                    fdt_string(fdt_property(fdt, cpu, "mmu-type")));
    }
    if (platform.hart_count == 0 || platform.timebase_hertz == 0)
        panic("device tree: no cpu, or no timebase-frequency");
}

static void read_device(const struct fdt *fdt, fdt_node parent, fdt_node node)
{
    struct fdt_property compatible = fdt_property(fdt, node, "compatible");
    struct range registers = reg(fdt, parent, node);

    if (fdt_lists(compatible, "ns16550a"))
        platform.uart = registers.begin;
    else if (fdt_lists(compatible, "riscv,plic0"))
        platform.plic = registers;
    else if (fdt_lists(compatible, "pagewalk,primary-region"))
        platform.region = reg_number(fdt, parent, node, 1);
    else if (fdt_lists(compatible, "virtio,mmio") && platform.virtio_count < PLATFORM_VIRTIO) {
        struct fdt_property interrupts = fdt_property(fdt, node, "interrupts");

        platform.virtio_source[platform.virtio_count] = (uint32_t)fdt_number(interrupts, 0, 1);
        platform.virtio[platform.virtio_count++] = registers.begin;
    }
}

/* Devices are in /soc, or directly in the root. */
static void read_devices(const struct fdt *fdt, fdt_node root)
{
    fdt_node parents[] = {root, fdt_child(fdt, root, "soc")};

    for (unsigned i = 0; i < 2 && parents[i] != FDT_NO_NODE; i++)
        for (fdt_node node = fdt_first_child(fdt, parents[i]); node != FDT_NO_NODE;
             node = fdt_next_sibling(fdt, node))
            read_device(fdt, parents[i], node);
}

void platform_read(uint64_t device_tree)
{
    struct fdt fdt;
    fdt_node root;

    if (device_tree == 0 || !fdt_open(&fdt, linear(device_tree)))
        panic("no device tree at %lx", device_tree);
    root = fdt_root(&fdt);
    if (root == FDT_NO_NODE)
        panic("device tree at %lx: no root node", device_tree);
    reserve(device_tree, device_tree + fdt.bytes);
    read_memory(&fdt, root);
    read_chosen(&fdt, root);
    read_cpus(&fdt, root);
    read_devices(&fdt, root);
    section_read(&fdt, root);
}
