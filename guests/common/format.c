#include "format.h"

#include "bytes.h"

#include <stdint.h>

static void put_unsigned(format_sink sink, void *context, uint64_t value, unsigned base)
{
    char digits[20];
    size_t at = sizeof(digits);

    do {
        digits[--at] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value != 0);
    sink(context, digits + at, sizeof(digits) - at);
}

static void put_signed(format_sink sink, void *context, int64_t value)
{
    if (value < 0) {
        sink(context, "-", 1);
        put_unsigned(sink, context, -(uint64_t)value, 10);
    } else {
        put_unsigned(sink, context, (uint64_t)value, 10);
    }
}

void format(format_sink sink, void *context, const char *template, va_list arguments)
{
    const char *plain = template;

    while (*template != '\0') {
        bool is_long = false;

        if (*template != '%') {
            template++;
            continue;
        }
        sink(context, plain, (size_t)(template - plain));
        template++;
        if (*template == 'l') {
            is_long = true;
            template++;
        }
        switch (*template) {
        case 's': {
            const char *s = va_arg(arguments, const char *);

            sink(context, s, string_length(s));
            break;
        }
        case 'c': {
            char c = (char)va_arg(arguments, int);

            sink(context, &c, 1);
            break;
        }
        case 'd':
            put_signed(sink, context, is_long ? va_arg(arguments, int64_t) : va_arg(arguments, int));
            break;
        case 'u':
        case 'x':
            put_unsigned(sink, context,
                         is_long ? va_arg(arguments, uint64_t) : va_arg(arguments, unsigned),
                         *template == 'x' ? 16 : 10);
            break;
        default:
            sink(context, template, 1);
            break;
        }
        template++;
        plain = template;
    }
    sink(context, plain, (size_t)(template - plain));
}
