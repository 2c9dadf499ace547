/* The platform-level interrupt controller: interrupts from outside. */
#ifndef VOS_PLIC_H
#define VOS_PLIC_H

#include <stdint.h>

struct hart;

/* Lets this hart have external interrupts. */
void plic_start_hart(void);
/* From now on `source` interrupts `hart`, too. */
void plic_enable(const struct hart *hart, uint64_t source);
/* Serves an external interrupt of this hart. */
void plic_interrupt(void);

#endif
