/* What can be typed. */
#ifndef SHELL_COMMANDS_H
#define SHELL_COMMANDS_H

#include <stdbool.h>

/* Does what a line says. False when it says that the shell is to end. */
bool command_run(char *line);
/* Says which processes in the background have ended. */
void command_report_ended(void);

#endif
