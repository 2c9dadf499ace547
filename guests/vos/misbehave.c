#include "misbehave.h"

#include "csr.h"
#include "frames.h"
#include "memory.h"
#include "panic.h"
#include "platform.h"
#include "region.h"
#include "sbi.h"
#include "timer.h"
#include "virtio.h"

/* In user space, where the kernel maps nothing. */
#define NOWHERE 0x123456000

static _Noreturn void jump(void)
{
    csr_write(stvec, NOWHERE);
    __asm__ volatile("jr %0" ::"r"(NOWHERE));
    __builtin_unreachable();
}

static _Noreturn void spin(void)
{
    for (;;)
        __asm__ volatile("");
}

static _Noreturn void sleep(void)
{
    timer_disarm();
    for (;;)
        wait_for_interrupt();
}

/* Guest physical page 0 is mapped with the devices, but nothing is there. */
static void load(void)
{
    (void)*(volatile uint64_t *)linear(0);
}

static void change_satp(void)
{
    const uint64_t beyond_memory = round_up(platform.memory.end, GIGAPAGE_BYTES) + GIGAPAGE_BYTES;

    csr_write(satp, (uint64_t)8 << SATP_MODE_SHIFT | beyond_memory >> 12);
    __asm__ volatile("sfence.vma" ::: "memory");
}

static void write_plic(void)
{
    static const uint32_t patterns[] = {UINT32_MAX, 0};

    for (unsigned i = 0; i < 2; i++)
        for (uint64_t at = platform.plic.begin; at < platform.plic.end; at += sizeof(uint32_t))
            *(volatile uint32_t *)linear(at) = patterns[i];
}

enum { VIRTIO_QUEUES = 4, VIRTIO_QUEUE_ENTRIES = 8 };
/* Registers and the beginning of the configuration space. */
enum { VIRTIO_REGISTER_BYTES = 0x200 };

/* The device up to DRIVER_OK, all four queues with their parts at `address`. */
static void start_virtio(uint64_t device, uint64_t address)
{
    virtio_write(device, VIRTIO_STATUS, 0);
    virtio_write(device, VIRTIO_STATUS, VIRTIO_ACKNOWLEDGE | VIRTIO_DRIVER);
    virtio_write(device, VIRTIO_DRIVER_FEATURES_SELECT, 1);
    virtio_write(device, VIRTIO_DRIVER_FEATURES, 1);
    virtio_write(device, VIRTIO_STATUS, VIRTIO_ACKNOWLEDGE | VIRTIO_DRIVER | VIRTIO_FEATURES_OK);
    for (unsigned queue = 0; queue < VIRTIO_QUEUES; queue++) {
        virtio_write(device, VIRTIO_QUEUE_SELECT, queue);
        virtio_write(device, VIRTIO_QUEUE_SIZE, VIRTIO_QUEUE_ENTRIES);
        virtio_write_address(device, VIRTIO_QUEUE_DESCRIPTORS, address);
        virtio_write_address(device, VIRTIO_QUEUE_AVAILABLE, address);
        virtio_write_address(device, VIRTIO_QUEUE_USED, address);
        virtio_write(device, VIRTIO_QUEUE_READY, 1);
    }
    virtio_write(device, VIRTIO_STATUS, VIRTIO_ACKNOWLEDGE | VIRTIO_DRIVER | VIRTIO_FEATURES_OK | VIRTIO_DRIVER_OK);
    for (unsigned queue = 0; queue <= VIRTIO_QUEUES; queue++)
        virtio_write(device, VIRTIO_QUEUE_NOTIFY, queue);
}

/* A page that, read as a descriptor table, chains each entry to itself, and read as an available ring
 * is far ahead and names entries that do not exist. */
static uint64_t garbage_page(void)
{
    enum { NEXT_AND_WRITE = 3 };
    uint64_t page = frames_take(ORDER_4K);
    uint64_t *words = linear(page);

    if (page == FRAME_NONE)
        panic("out of memory");
    for (unsigned i = 0; i < PAGE_BYTES / sizeof(*words); i += 2) {
        words[i] = UINT64_MAX - PAGE_BYTES;
        words[i + 1] = (uint64_t)(i / 2) << 48 | (uint64_t)NEXT_AND_WRITE << 32 | UINT32_MAX;
    }
    return page;
}

static void write_virtio(void)
{
    uint64_t garbage = garbage_page();

    for (unsigned i = 0; i < platform.virtio_count; i++) {
        start_virtio(platform.virtio[i], garbage);
        start_virtio(platform.virtio[i], UINT64_MAX - PAGE_BYTES + 1);
        start_virtio(platform.virtio[i], platform.memory.end - 16);
        for (uint64_t at = 0; at < VIRTIO_REGISTER_BYTES; at += sizeof(uint32_t))
            *(volatile uint32_t *)linear(platform.virtio[i] + at) = UINT32_MAX;
        virtio_write(platform.virtio[i], VIRTIO_STATUS, 0);
    }
}

void misbehave(enum misbehaviour misbehaviour)
{
    switch (misbehaviour) {
    case MISBEHAVE_NOT:
        break;
    case MISBEHAVE_PANIC:
        panic("as asked");
    case MISBEHAVE_JUMP:
        jump();
    case MISBEHAVE_SPIN:
        spin();
    case MISBEHAVE_SLEEP:
        sleep();
    case MISBEHAVE_LOAD:
        load();
        break;
    case MISBEHAVE_SATP:
        change_satp();
        break;
    case MISBEHAVE_PLIC:
        write_plic();
        break;
    case MISBEHAVE_VIRTIO:
        write_virtio();
        break;
    case MISBEHAVE_SBI:
        sbi_call_with_garbage();
        break;
    case MISBEHAVE_SEGMENT:
        region_ask_for_trouble();
        break;
    }
}
