/* What a USD layer holds, wherever it stands: pieces of text and values. Internal to lib/io. */
#ifndef SU_IO_USD_VALUE_H
#define SU_IO_USD_VALUE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct su_usd_text { /* a piece of the file, or of what was unpacked of it; size 0: nothing */
    const char *at;
    int64_t size;
} su_usd_text;

typedef struct su_usd_value { /* text as it stands, or a value of a crate; neither: nothing */
    su_usd_text text;
    const struct su_usd_crate *crate;
    uint64_t word; /* of the crate: its type, and the value or where it is */
    int64_t next;  /* of a list of tokens: how many were given out */
} su_usd_value;

#endif
