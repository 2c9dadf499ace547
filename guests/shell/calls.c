#include "calls.h"

#include "../common/format.h"
#include "../workloads/linux.h"

uint64_t shell_call(enum shell_call number, uint64_t a, uint64_t b, uint64_t c)
{
    register uint64_t a7 __asm__("a7") = number;
    register uint64_t a0 __asm__("a0") = a;
    register uint64_t a1 __asm__("a1") = b;
    register uint64_t a2 __asm__("a2") = c;

    __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a7) : "memory");
    return a0;
}

static void append(void *context, const char *bytes, size_t length)
{
    struct text *text = context;

    for (size_t i = 0; i < length && text->length < sizeof(text->bytes); i++)
        text->bytes[text->length++] = bytes[i];
}

void text_add(struct text *text, const char *template, ...)
{
    va_list arguments;

    va_start(arguments, template);
    format(append, text, template, arguments);
    va_end(arguments);
}

void text_pad(struct text *text, size_t column)
{
    while (text->length < column)
        append(text, " ", 1);
}

void text_right(struct text *text, size_t column, uint64_t number)
{
    size_t digits = 1;

    for (uint64_t rest = number; rest >= 10; rest /= 10)
        digits++;
    text_pad(text, column > digits ? column - digits : 0);
    text_add(text, "%lu", number);
}

void text_bytes(struct text *text, uint64_t bytes)
{
    static const char units[] = {'K', 'M', 'G'};
    uint64_t value = bytes >> 10;
    unsigned unit = 0;

    while (unit + 1 < sizeof(units) && value >= 1024 && (value % 1024 == 0 || value >= 10240)) {
        value >>= 10;
        unit++;
    }
    text_add(text, "%lu%c", value, units[unit]);
}

void text_write(struct text *text)
{
    linux_write(text->bytes, text->length);
    text->length = 0;
}
