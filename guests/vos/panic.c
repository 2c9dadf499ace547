#include "panic.h"

#include "../common/format.h"
#include "../common/marker.h"
#include "console.h"
#include "csr.h"
#include "sbi.h"

#include <stdarg.h>

enum { STATUS_PANIC = 255 };

static unsigned panicking;

static void put(void *context, const char *bytes, size_t length)
{
    (void)context;
    console_write(bytes, length);
}

void panic(const char *template, ...)
{
    va_list arguments;

    if (__atomic_exchange_n(&panicking, 1, __ATOMIC_RELAXED) != 0)
        for (;;)
            wait_for_interrupt();
    console_break_lock();
    console_print("vos: panic: ");
    va_start(arguments, template);
    format(put, NULL, template, arguments);
    va_end(arguments);
    console_print("\n");
    shut_down(STATUS_PANIC);
}

void shut_down(unsigned status)
{
    marker_exit(status);
    sbi_shutdown(status == 0 ? SBI_REASON_NONE : SBI_REASON_SYSTEM_FAILURE);
    console_print("vos: no SBI system reset; halted\n");
    for (;;)
        wait_for_interrupt();
}
