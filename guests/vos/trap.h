/* Traps from user mode, and the floating-point registers, which the kernel itself never uses. */
#ifndef VOS_TRAP_H
#define VOS_TRAP_H

#include "process.h"

/* Makes this hart ready to take traps. */
void trap_start(void);
/* Returns to the user: the process that is current on this hart. */
_Noreturn void trap_return(void);

void fp_save(struct fp_state *state);
void fp_restore(const struct fp_state *state);

#endif
