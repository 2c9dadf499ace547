/* Included before all else: without this, what another file defines is reached by way of a table, which somebody would have to relocate. */
#ifndef __ASSEMBLER__
#pragma GCC visibility push(hidden)
#endif
