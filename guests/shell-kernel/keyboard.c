#include "keyboard.h"

#include "../vos/disk.h"
#include "../vos/fdt.h"
#include "../vos/hart.h"
#include "../vos/memory.h"
#include "../vos/platform.h"
#include "../vos/plic.h"
#include "../vos/process.h"
#include "../vos/sched.h"
#include "children.h"
#include "terminal.h"
#include "wrapped.h"

enum {
    UART_RECEIVE = 0,
    UART_INTERRUPT_ENABLE = 1,
    UART_LINE_STATUS = 5,
    UART_DATA_READY = 1,
    UART_RECEIVE_INTERRUPT = 1,
};

enum { KEYS = 256, INTERRUPT_KEY = 3, ERROR_NO_DEVICE = 19 };

/* The UART's source at the PLIC, 0 for none. */
static uint32_t source;

/* Typed, and not read yet. Guarded by the scheduler's lock, as what follows. */
static struct {
    uint8_t keys[KEYS];
    unsigned first;
    unsigned count;
    /* The UART keeps what else is typed until there is room. */
    bool full;
    struct process *reader;
} typed;

static volatile uint8_t *uart_register(unsigned number)
{
    return (volatile uint8_t *)linear(platform.uart) + number;
}

static void listen(bool wanted)
{
    typed.full = !wanted;
    *uart_register(UART_INTERRUPT_ENABLE) = wanted ? UART_RECEIVE_INTERRUPT : 0;
}

static uint8_t take(void)
{
    uint8_t key = typed.keys[typed.first];

    typed.first = (typed.first + 1) % KEYS;
    typed.count--;
    if (typed.full && typed.count < KEYS / 2)
        listen(true);
    return key;
}

/* Ctrl-C is for the process that the shell waits for, if there is one. */
static void drain(void)
{
    while (typed.count < KEYS && (*uart_register(UART_LINE_STATUS) & UART_DATA_READY) != 0) {
        uint8_t key = *uart_register(UART_RECEIVE);

        if (key != INTERRUPT_KEY || !children_interrupt())
            typed.keys[(typed.first + typed.count++) % KEYS] = key;
    }
    if (typed.count == KEYS)
        listen(false);
}

bool keyboard_take_interrupt(void)
{
    for (unsigned i = 0; i < typed.count; i++)
        if (typed.keys[(typed.first + i) % KEYS] == INTERRUPT_KEY) {
            typed.first = (typed.first + i + 1) % KEYS;
            typed.count -= i + 1;
            if (typed.full)
                listen(true);
            return true;
        }
    return false;
}

static void find_source(const struct fdt *fdt, fdt_node parent)
{
    if (parent == FDT_NO_NODE)
        return;
    for (fdt_node node = fdt_first_child(fdt, parent); node != FDT_NO_NODE;
         node = fdt_next_sibling(fdt, node))
        if (fdt_lists(fdt_property(fdt, node, "compatible"), "ns16550a"))
            source = (uint32_t)fdt_number(fdt_property(fdt, node, "interrupts"), 0, 1);
}

void __wrap_platform_read(uint64_t device_tree)
{
    struct fdt fdt;

    __real_platform_read(device_tree);
    terminal_find();
    /* It has been read: it is one. */
    if (!fdt_open(&fdt, linear(device_tree)))
        return;
    find_source(&fdt, fdt_root(&fdt));
    find_source(&fdt, fdt_child(&fdt, fdt_root(&fdt), "soc"));
}

/* What main starts last before other harts, on the first hart. */
void __wrap_disk_start(void)
{
    __real_disk_start();
    if (source == 0 || platform.uart == 0 || platform.plic.begin == platform.plic.end) {
        source = 0;
        return;
    }
    plic_enable(hart_this(), source);
    plic_start_hart();
    listen(true);
}

void __wrap_plic_interrupt(void)
{
    struct process *reader = NULL;

    if (source != 0) {
        sched_lock();
        drain();
        if (typed.count > 0)
            reader = typed.reader;
        if (reader != NULL) {
            typed.reader = NULL;
            reader->frame.x[REGISTER_A0] = take();
            /* Unlocks. */
            sched_wake(reader);
        } else {
            sched_unlock();
        }
    }
    __real_plic_interrupt();
}

void keyboard_read(struct process *process)
{
    if (source == 0) {
        process->frame.x[REGISTER_A0] = -(uint64_t)ERROR_NO_DEVICE;
        return;
    }
    sched_lock();
    if (typed.count > 0) {
        process->frame.x[REGISTER_A0] = take();
        sched_unlock();
    } else {
        typed.reader = process;
        /* Unlocks. */
        sched_wait(NULL);
    }
}

bool __wrap_disk_is_busy(void)
{
    return typed.reader != NULL || __real_disk_is_busy();
}
