/* Where start.S finds what it needs of the structures in harts.h. */
#ifndef SBI_CONTEXT_H
#define SBI_CONTEXT_H

#define WORKER_STACK 0

#define CONTEXT_HART 0
#define CONTEXT_SATP 8
#define CONTEXT_SSTATUS 16
#define CONTEXT_RA 24
#define CONTEXT_SP 32
#define CONTEXT_GP 40
#define CONTEXT_TP 48
#define CONTEXT_SAVED 56

/* What sleep_call returns on a hart that slept and went on elsewhere: no SBI error. */
#define SLEPT 1

/* 16 registers that a call may change. */
#define FRAME_BYTES 128

#endif
