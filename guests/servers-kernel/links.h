/* Links to a section's leaf tables that are copied, a table above them at a time, from the process that has mapped the section first. vos makes each
 * link by itself. This is for guests that map one section. */
#ifndef SERVERS_KERNEL_LINKS_H
#define SERVERS_KERNEL_LINKS_H

#include "../vos/space.h"

#include <stdbool.h>
#include <stdint.h>

/* A space has mapped all of a section, which is `bytes` long, at `address`, to write to it. */
void links_note(const struct space *space, uint64_t address, uint64_t bytes);
/* From now on, the links of the last space that was noted are copied. It must stay until all others have mapped the section. */
void links_start_copying(void);
/* Links `space` so: the section's address and its length. 0 where links are not copied, or memory has run out. */
uint64_t links_copy(struct space *space, uint64_t *bytes);

#endif
