/* Processes that log off in place of ending. They keep their memory, so that the end of one takes no time of those that are still at work. */
#ifndef TIMESHARING_KERNEL_SESSION_H
#define TIMESHARING_KERNEL_SESSION_H

/* This hart's process does nothing more. The last one ends the machine, with the status of the first that failed. Another process may be current
 * afterwards. */
void session_log_off(unsigned status);

#endif
