/* Keys, from an ns16550a that interrupts. */
#ifndef SHELL_KERNEL_KEYBOARD_H
#define SHELL_KERNEL_KEYBOARD_H

#include <stdbool.h>

struct process;

/* Answers the process, which is this hart's, with a key in a0, or with an error when there is no keyboard. Another process may be current
 * afterwards. */
void keyboard_read(struct process *process);
/* Whether Ctrl-C was typed and not read yet; it and the keys before it are dropped then. With the scheduler's lock held. */
bool keyboard_take_interrupt(void);

#endif
