#include "disk.h"

#include "hart.h"
#include "panic.h"
#include "platform.h"
#include "plic.h"
#include "sched.h"
#include "virtio.h"

#include <stddef.h>

/* Each request takes three descriptors: its header, the data, its status. */
enum { REQUESTS = 16, PARTS = 3, ENTRIES = 64 };
enum { VIRTIO_ID_BLOCK = 2, REQUEST_READ = 0, REQUEST_WRITE = 1 };

static struct {
    uint64_t device;
    uint64_t sectors;
    uint32_t source;
    /* Whose interrupts they are. */
    struct hart *hart;
    /* All below is guarded by the scheduler's lock. */
    uint16_t used_seen;
    uint16_t free_count;
    uint16_t free[REQUESTS];
    /* Processes whose requests found no room, oldest first. */
    struct process *waiting;
} disk;

/* What the device reads and writes. */
static _Alignas(PAGE_BYTES) struct {
    struct virtio_descriptor descriptors[ENTRIES];
    struct {
        uint16_t flags;
        uint16_t index;
        uint16_t ring[ENTRIES];
    } available;
    _Alignas(4) struct {
        uint16_t flags;
        uint16_t index;
        struct virtio_used ring[ENTRIES];
    } used;
    struct {
        uint32_t type;
        uint32_t reserved;
        uint64_t sector;
    } headers[REQUESTS];
    uint8_t status[REQUESTS];
} shared;

/* By request: who waits for it. */
static struct process *waits[REQUESTS];

/* In a process's `message` words while it waits. */
enum message { MESSAGE_SECTOR, MESSAGE_MEMORY, MESSAGE_KIND };
/* Bits of MESSAGE_KIND: bytes, whether it is a write. The word for a failure is in a0 meanwhile. */
enum { KIND_WRITE = 1 << 16 };

static bool negotiate(uint64_t device)
{
    enum virtio_status status = VIRTIO_ACKNOWLEDGE | VIRTIO_DRIVER;

    virtio_write(device, VIRTIO_STATUS, 0);
    virtio_write(device, VIRTIO_STATUS, status);
    /* Version 1, and nothing else. */
    virtio_write(device, VIRTIO_DRIVER_FEATURES_SELECT, 0);
    virtio_write(device, VIRTIO_DRIVER_FEATURES, 0);
    virtio_write(device, VIRTIO_DRIVER_FEATURES_SELECT, 1);
    virtio_write(device, VIRTIO_DRIVER_FEATURES, 1);
    status |= VIRTIO_FEATURES_OK;
    virtio_write(device, VIRTIO_STATUS, status);
    if ((virtio_read(device, VIRTIO_STATUS) & VIRTIO_FEATURES_OK) == 0)
        return false;
    virtio_write(device, VIRTIO_QUEUE_SELECT, 0);
    if (virtio_read(device, VIRTIO_QUEUE_MOST) < ENTRIES)
        return false;
    virtio_write(device, VIRTIO_QUEUE_SIZE, ENTRIES);
    virtio_write_address(device, VIRTIO_QUEUE_DESCRIPTORS, physical_address(shared.descriptors));
    virtio_write_address(device, VIRTIO_QUEUE_AVAILABLE, physical_address(&shared.available));
    virtio_write_address(device, VIRTIO_QUEUE_USED, physical_address(&shared.used));
    virtio_write(device, VIRTIO_QUEUE_READY, 1);
    virtio_write(device, VIRTIO_STATUS, status | VIRTIO_DRIVER_OK);
    return true;
}

void disk_start(void)
{
    for (unsigned i = 0; i < platform.virtio_count && disk.device == 0; i++) {
        uint64_t device = platform.virtio[i];

        if (virtio_read(device, VIRTIO_MAGIC) != VIRTIO_MAGIC_VALUE || virtio_read(device, VIRTIO_VERSION) != 2 ||
            virtio_read(device, VIRTIO_DEVICE_ID) != VIRTIO_ID_BLOCK || !negotiate(device))
            continue;
        disk.device = device;
        disk.source = platform.virtio_source[i];
        disk.sectors = virtio_read(device, VIRTIO_CONFIG) |
                       (uint64_t)virtio_read(device, VIRTIO_CONFIG + 4) << 32;
    }
    if (disk.device == 0)
        return;
    while (disk.free_count < REQUESTS) {
        disk.free[disk.free_count] = disk.free_count;
        disk.free_count++;
    }
    disk.hart = hart_this();
    plic_enable(disk.hart, disk.source);
    disk_start_hart();
}

void disk_start_hart(void)
{
    if (disk.device != 0)
        plic_start_hart();
}

void disk_leave(void)
{
    if (disk.device == 0 || disk.hart != hart_this())
        return;
    for (unsigned i = 0; i < hart_count(); i++) {
        struct hart *other = hart_by_number(i);

        if (other != hart_this() && other->running && !other->leaves) {
            disk.hart = other;
            plic_enable(other, disk.source);
            return;
        }
    }
    panic("no hart is left for the disk");
}

uint64_t disk_sectors(void)
{
    return disk.sectors;
}

static void describe(uint16_t request, unsigned part, const void *address, uint32_t bytes, unsigned flags)
{
    uint16_t at = (uint16_t)(request * PARTS + part);

    shared.descriptors[at] =
        (struct virtio_descriptor){physical_address(address), bytes, (uint16_t)flags, (uint16_t)(at + 1)};
}

/* Gives a process's request to the device. There is room. */
static void submit(struct process *process)
{
    uint16_t request = disk.free[--disk.free_count];
    uint64_t kind = process->message[MESSAGE_KIND];
    bool write = (kind & KIND_WRITE) != 0;
    uint32_t bytes = (uint32_t)kind & (KIND_WRITE - 1);
    const void *data = linear(process->message[MESSAGE_MEMORY]);

    waits[request] = process;
    shared.headers[request].type = write ? REQUEST_WRITE : REQUEST_READ;
    shared.headers[request].sector = process->message[MESSAGE_SECTOR];
    describe(request, 0, &shared.headers[request], sizeof(shared.headers[request]), VIRTIO_NEXT);
    describe(request, 1, data, bytes, VIRTIO_NEXT | (write ? 0 : VIRTIO_DEVICE_WRITES));
    describe(request, 2, &shared.status[request], 1, VIRTIO_DEVICE_WRITES);
    shared.available.ring[shared.available.index % ENTRIES] = (uint16_t)(request * PARTS);
    __atomic_store_n(&shared.available.index, (uint16_t)(shared.available.index + 1), __ATOMIC_RELEASE);
    virtio_write(disk.device, VIRTIO_QUEUE_NOTIFY, 0);
}

static void append(struct process *process)
{
    struct process **link = &disk.waiting;

    while (*link != NULL)
        link = &(*link)->next;
    process->next = NULL;
    *link = process;
}

bool disk_transfer(bool write, uint64_t sector, uint64_t memory, uint32_t bytes, uint64_t failure)
{
    struct process *process = hart_this()->current;
    uint64_t count = bytes / DISK_SECTOR_BYTES;

    if (bytes == 0 || bytes % DISK_SECTOR_BYTES != 0 || count > disk.sectors ||
        sector > disk.sectors - count || memory % PAGE_BYTES + bytes > PAGE_BYTES)
        return false;
    process->message[MESSAGE_SECTOR] = sector;
    process->message[MESSAGE_MEMORY] = memory;
    process->message[MESSAGE_KIND] = bytes | (write ? KIND_WRITE : 0);
    process->frame.x[REGISTER_A0] = failure;
    sched_lock();
    if (disk.free_count > 0)
        submit(process);
    else
        append(process);
    sched_wait(NULL);
    return true;
}

bool disk_is_busy(void)
{
    return disk.device != 0 && disk.free_count < REQUESTS;
}

/* Takes one finished request from the device; NULL when there is no more. With the scheduler's lock held. */
static struct process *take_finished(void)
{
    struct process *process;
    uint32_t request;

    if (__atomic_load_n(&shared.used.index, __ATOMIC_ACQUIRE) == disk.used_seen)
        return NULL;
    request = shared.used.ring[disk.used_seen++ % ENTRIES].head / PARTS;
    process = waits[request];
    if (shared.status[request] == 0)
        process->frame.x[REGISTER_A0] = 0;
    disk.free[disk.free_count++] = (uint16_t)request;
    if (disk.waiting != NULL) {
        struct process *next = disk.waiting;

        disk.waiting = next->next;
        submit(next);
    }
    return process;
}

void disk_interrupt(uint32_t source)
{
    if (source != disk.source || source == 0)
        return;
    virtio_write(disk.device, VIRTIO_INTERRUPT_ACK, virtio_read(disk.device, VIRTIO_INTERRUPT_STATUS));
    for (;;) {
        struct process *process;

        sched_lock();
        process = take_finished();
        if (process == NULL)
            break;
        /* Unlocks. */
        sched_wake(process);
    }
    sched_unlock();
}
