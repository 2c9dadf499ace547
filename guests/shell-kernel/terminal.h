/* A terminal in raw mode moves down for a line feed, and not to the left. */
#ifndef SHELL_KERNEL_TERMINAL_H
#define SHELL_KERNEL_TERMINAL_H

/* Reads the platform's command line, before it is split: the word "terminal" says that the console is one. */
void terminal_find(void);

#endif
