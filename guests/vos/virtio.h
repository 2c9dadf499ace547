/* Registers of virtio-mmio and the parts of a queue: Virtual I/O Device version 1.2, sections 4.2.2 and 2.7. */
#ifndef VOS_VIRTIO_H
#define VOS_VIRTIO_H

#include <stdint.h>

#include "memory.h"

enum virtio_register {
    VIRTIO_MAGIC = 0,
    VIRTIO_VERSION = 4,
    VIRTIO_DEVICE_ID = 8,
    VIRTIO_DRIVER_FEATURES = 0x20,
    VIRTIO_DRIVER_FEATURES_SELECT = 0x24,
    VIRTIO_QUEUE_SELECT = 0x30,
    VIRTIO_QUEUE_MOST = 0x34,
    VIRTIO_QUEUE_SIZE = 0x38,
    VIRTIO_QUEUE_READY = 0x44,
    VIRTIO_QUEUE_NOTIFY = 0x50,
    VIRTIO_INTERRUPT_STATUS = 0x60,
    VIRTIO_INTERRUPT_ACK = 0x64,
    VIRTIO_STATUS = 0x70,
    VIRTIO_QUEUE_DESCRIPTORS = 0x80,
    VIRTIO_QUEUE_AVAILABLE = 0x90,
    VIRTIO_QUEUE_USED = 0xa0,
    VIRTIO_CONFIG = 0x100,
};

enum virtio_status {
    VIRTIO_ACKNOWLEDGE = 1,
    VIRTIO_DRIVER = 2,
    VIRTIO_DRIVER_OK = 4,
    VIRTIO_FEATURES_OK = 8,
};

/* "virt". */
#define VIRTIO_MAGIC_VALUE 0x74726976

static inline uint32_t virtio_read(uint64_t device, enum virtio_register at)
{
    return *(volatile uint32_t *)linear(device + at);
}

static inline void virtio_write(uint64_t device, enum virtio_register at, uint32_t value)
{
    *(volatile uint32_t *)linear(device + at) = value;
}

/* A guest physical address, in two registers. */
static inline void virtio_write_address(uint64_t device, enum virtio_register at, uint64_t address)
{
    virtio_write(device, at, (uint32_t)address);
    virtio_write(device, at + 4, (uint32_t)(address >> 32));
}

enum { VIRTIO_NEXT = 1, VIRTIO_DEVICE_WRITES = 2 };

struct virtio_descriptor {
    uint64_t address;
    uint32_t bytes;
    uint16_t flags;
    uint16_t next;
};

struct virtio_used {
    uint32_t head;
    uint32_t bytes;
};

#endif
