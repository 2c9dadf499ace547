#include "console.h"

#include "../common/format.h"
#include "memory.h"
#include "sbi.h"
#include "csr.h"
#include "spinlock.h"

enum console {
    CONSOLE_NONE,
    CONSOLE_DBCN,
    CONSOLE_UART,
};

enum {
    UART_TRANSMIT = 0,
    UART_LINE_STATUS = 5,
    UART_TRANSMIT_EMPTY = 0x20,
};

static enum console console;
static volatile uint8_t *uart_registers;
static struct spinlock lock;
static bool lock_broken;

void console_start(uint64_t uart)
{
    if (sbi_has(SBI_DBCN)) {
        console = CONSOLE_DBCN;
    } else if (uart != 0) {
        uart_registers = linear(uart);
        console = CONSOLE_UART;
    }
}

const char *console_name(void)
{
    switch (console) {
    case CONSOLE_DBCN:
        return "dbcn";
    case CONSOLE_UART:
        return "ns16550a";
    case CONSOLE_NONE:
        break;
    }
    return "none";
}

static void uart_write(const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        while ((uart_registers[UART_LINE_STATUS] & UART_TRANSMIT_EMPTY) == 0)
            pause();
        uart_registers[UART_TRANSMIT] = (uint8_t)bytes[i];
    }
}

static void write_unlocked(const char *bytes, size_t length)
{
    switch (console) {
    case CONSOLE_DBCN:
        while (length > 0) {
            size_t written = sbi_console_write(bytes, length);

            if (written == 0)
                return;
            bytes += written;
            length -= written;
        }
        break;
    case CONSOLE_UART:
        uart_write(bytes, length);
        break;
    case CONSOLE_NONE:
        break;
    }
}

void console_write(const char *bytes, size_t length)
{
    bool locked = !__atomic_load_n(&lock_broken, __ATOMIC_RELAXED);

    if (locked)
        spinlock_lock(&lock);
    write_unlocked(bytes, length);
    if (locked)
        spinlock_unlock(&lock);
}

struct line {
    char bytes[255];
    size_t length;
};

static void line_append(void *context, const char *bytes, size_t length)
{
    struct line *line = context;

    for (size_t i = 0; i < length && line->length < sizeof(line->bytes); i++)
        line->bytes[line->length++] = bytes[i];
}

void console_print(const char *template, ...)
{
    struct line line = {.length = 0};
    va_list arguments;

    va_start(arguments, template);
    format(line_append, &line, template, arguments);
    va_end(arguments);
    console_write(line.bytes, line.length);
}

void console_break_lock(void)
{
    __atomic_store_n(&lock_broken, true, __ATOMIC_RELAXED);
}
