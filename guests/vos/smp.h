/* Starting the other harts. */
#ifndef VOS_SMP_H
#define VOS_SMP_H

/* Starts harts until `harts` run, the first included; 0 means all. Panics when the machine has
 * fewer, or one does not start. */
void smp_start(unsigned harts);
/* Returns when every hart that was started runs. */
void smp_await(void);

#endif
