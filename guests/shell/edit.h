/* Lines that are typed: with the arrow keys, Home, End, Delete and Backspace, Ctrl-E, Ctrl-K, Ctrl-U, Ctrl-W, and the lines before with Up and
 * Down. Ctrl-A is Pagewalk's own key. */
#ifndef SHELL_EDIT_H
#define SHELL_EDIT_H

#include "abi.h"

#include <stdbool.h>

/* Reads a line after a prompt; false at the end of input: Ctrl-D in an empty line. With a terminal, each key is shown; otherwise the line is,
 * once it has ended, so that the output can be read by itself. */
bool edit_line(char line[SHELL_LINE_BYTES], bool is_terminal);

#endif
