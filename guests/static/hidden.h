/* Included before all else: without this, what another file defines is reached by way of a table, and a table has to be relocated. */
#ifndef __ASSEMBLER__
#pragma GCC visibility push(hidden)
#endif
