/* Text FBX (version 6 on) as the binary one that says the same, so that what reads FBX knows one form. Internal to
 * lib/io. */
#ifndef SU_IO_FBX_TEXT_H
#define SU_IO_FBX_TEXT_H

#include "core/memory.h"

#include <stddef.h>

/* data, with a 0 behind its size, as it is where it is binary, else written anew from the arena, with a 0 behind it;
 * *size is then that of the result. NULL where the text is broken or memory is short (arena->failed). Text does not say
 * the types of its numbers: they follow from keys, and from the types that properties (P) name. What is embedded
 * (Content) is left out. */
char *su_fbx_binary(char *data, size_t *size, su_arena *arena);

#endif
