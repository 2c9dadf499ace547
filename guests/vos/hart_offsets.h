/* Offsets in struct hart and struct process that assembler uses; hart.c checks them. */
#ifndef VOS_HART_OFFSETS_H
#define VOS_HART_OFFSETS_H

#define HART_CURRENT 0
#define HART_STACK 8
#define HART_SCRATCH 16
#define HART_ID 24
#define HART_BYTES 40

/* struct frame: x0 to x31, then these. */
#define FRAME_PC 256
#define FRAME_STATUS 264

#endif
