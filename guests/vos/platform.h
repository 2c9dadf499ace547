/* What the device tree says about the machine. */
#ifndef VOS_PLATFORM_H
#define VOS_PLATFORM_H

#include <stdbool.h>
#include <stdint.h>

enum {
    PLATFORM_HARTS = 64,
    PLATFORM_RESERVED = 16,
    PLATFORM_VIRTIO = 8,
    PLATFORM_BOOTARGS_BYTES = 1024,
};

/* A range of guest physical memory, end excluded. */
struct range {
    uint64_t begin;
    uint64_t end;
};

struct platform {
    struct range memory;
    /* Parts of `memory` that hold something: firmware, device tree, initrd. */
    struct range reserved[PLATFORM_RESERVED];
    unsigned reserved_count;
    uint64_t hart_ids[PLATFORM_HARTS];
    unsigned hart_count;
    /* Ticks of the `time` CSR in a second. */
    uint64_t timebase_hertz;
    bool sstc;
    /* "riscv,sv39", "riscv,sv48", "riscv,sv57", or "" when the tree does not say. */
    char mmu_type[16];
    /* Guest physical address of an ns16550a, 0 for none. */
    uint64_t uart;
    /* Registers of the PLIC; empty for none. */
    struct range plic;
    /* Memory kept apart for primary regions; empty for none. */
    struct range region;
    /* Guest physical addresses of virtio-mmio devices. */
    uint64_t virtio[PLATFORM_VIRTIO];
    /* Their sources at the PLIC. */
    uint32_t virtio_source[PLATFORM_VIRTIO];
    unsigned virtio_count;
    char bootargs[PLATFORM_BOOTARGS_BYTES];
};

extern struct platform platform;

/* Reads the device tree at guest physical address `device_tree`; panics when it is none. */
void platform_read(uint64_t device_tree);

#endif
