/* Messages to the control space: a process calls and waits until its call is answered. One process
 * serves, the first that receives. */
#ifndef VOS_MESSAGE_H
#define VOS_MESSAGE_H

#include "process.h"

/* This hart's process waits until the server has answered; a0 and a1 will then be the answer. */
void message_call(const uint64_t words[MESSAGE_WORDS]);
/* This hart's process waits for a call; a0 will then be the caller's id, the words follow. False when
 * another process serves. */
bool message_receive(void);
/* Lets process `caller` go on, after all that are ready: as if it had waited for a disk. False when it does not wait for an answer. */
bool message_reply(unsigned caller, uint64_t first, uint64_t second);

#endif
