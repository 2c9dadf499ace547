/* The supervisor binary interface, as a caller sees it: RISC-V SBI specification 3.0. */
#ifndef SBI_SBI_H
#define SBI_SBI_H

#include <stdbool.h>
#include <stdint.h>

enum sbi_extension {
    SBI_SET_TIMER = 0,
    SBI_PUTCHAR = 1,
    SBI_GETCHAR = 2,
    SBI_CLEAR_IPI = 3,
    SBI_SEND_IPI = 4,
    SBI_REMOTE_FENCE_I = 5,
    SBI_REMOTE_SFENCE_VMA = 6,
    SBI_REMOTE_SFENCE_VMA_ASID = 7,
    SBI_BASE = 0x10,
    SBI_TIME = 0x54494d45,
    SBI_IPI = 0x735049,
    SBI_RFENCE = 0x52464e43,
    SBI_HSM = 0x48534d,
    SBI_SRST = 0x53525354,
    SBI_PMU = 0x504d55,
    SBI_DBCN = 0x4442434e,
    SBI_SUSP = 0x53555350,
    SBI_STA = 0x535441,
    SBI_FWFT = 0x46574654,
};

enum sbi_error {
    SBI_SUCCESS = 0,
    SBI_NOT_SUPPORTED = -2,
    SBI_INVALID_PARAM = -3,
    SBI_DENIED = -4,
    SBI_INVALID_ADDRESS = -5,
    SBI_ALREADY_AVAILABLE = -6,
    SBI_ALREADY_STARTED = -7,
    SBI_ALREADY_STOPPED = -8,
    SBI_DENIED_LOCKED = -14,
};

struct sbi_result {
    int64_t error;
    uint64_t value;
};

struct sbi_result sbi_call(uint64_t extension, uint64_t function, uint64_t a, uint64_t b, uint64_t c,
                           uint64_t d, uint64_t e);
#define sbi_call0(extension, function) sbi_call(extension, function, 0, 0, 0, 0, 0)
#define sbi_call1(extension, function, a) sbi_call(extension, function, a, 0, 0, 0, 0)
#define sbi_call3(extension, function, a, b, c) sbi_call(extension, function, a, b, c, 0, 0)

bool sbi_has(uint64_t extension);

/* An address in RAM, and one that is none. */
static inline uint64_t address_of(const volatile void *pointer)
{
    return (uint64_t)pointer;
}

#define NO_ADDRESS 0xfffffffffffff000

#endif
