/* Tables of numbers from users: .csv with names in the first line, or .npy. */
#ifndef SU_IO_TABLE_H
#define SU_IO_TABLE_H

#include "core/error.h"
#include "core/memory.h"

#include <stdint.h>

typedef struct su_table {
    su_arena arena;
    int64_t rows, columns;
    const char **names; /* (columns); NULL: the file has none */
    double *values;     /* (rows,columns) finite */
} su_table;

/* .npy: one or two dimensions, the last one are the columns (one dimension: one column). Else text: lines of numbers
 * separated by commas, semicolons, tabs or spaces; '#' begins a comment; the first line may be names. SU_INPUT with the
 * line where something is wrong, or where there is no row. */
su_status su_table_load(const char *path, su_table *table, su_error *err);
void su_table_free(su_table *table);
/* -1: no column has the name. */
int64_t su_table_column(const su_table *table, const char *name);

#endif
