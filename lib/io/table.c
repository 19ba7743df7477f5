#include "io/table.h"

#include "core/file.h"
#include "core/npz.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Cuts the next field out of a line: text up to a separator, without blanks and quotes around it. NULL at the end. A
 * line with commas or semicolons is cut there only, so that names may hold spaces. */
static char *next_field(char **cursor, const char *separators, int *more)
{
    char *field = *cursor;
    if (!*more) return NULL;
    int blanks = strchr(separators, ' ') != NULL;
    if (blanks) field += strspn(field, " \t");
    size_t length = strcspn(field, separators);
    *more = field[length] != '\0';
    *cursor = field + length + *more;
    field[length] = '\0';
    if (blanks && *more) { /* blanks at the end of the line are no field */
        *cursor += strspn(*cursor, " \t");
        *more = **cursor != '\0';
    }
    field += strspn(field, " \t\"");
    for (char *end = field + strlen(field); end > field && strchr(" \t\"\r", end[-1]);) *--end = '\0';
    return field;
}

static int is_number(const char *text, double *value)
{
    char *end;
    *value = strtod(text, &end);
    return end != text && *end == '\0';
}

static const char *separators_of(const char *line)
{
    return strchr(line, ',') ? "," : strchr(line, ';') ? ";" : strchr(line, '\t') ? "\t" : " \t";
}

/* Cuts comments and blanks off the end. A # within a word and before a digit belongs to a name: bone#2.rx. */
static void strip(char *line)
{
    line[strcspn(line, "\r\n")] = '\0';
    for (char *mark = line; (mark = strchr(mark, '#')); mark++)
        if (mark == line || mark[-1] == ' ' || mark[-1] == '\t' || mark[1] < '0' || mark[1] > '9') {
            *mark = '\0';
            break;
        }
    for (size_t n = strlen(line); n > 0 && (line[n - 1] == ' ' || line[n - 1] == '\t'); n--) line[n - 1] = '\0';
}

/* One line into values (room `columns`) or, where its first field is no number, into names. */
static su_status parse_line(su_table *t, char *line, int64_t number, const char *path, double **values, int64_t *room,
                            su_error *err)
{
    const char *separators = separators_of(line);
    char *cursor = line, *field;
    int more = 1;
    int64_t count = 1;
    for (const char *p = line; *p; p++) count += strchr(separators, *p) != NULL;
    const char **names = NULL;
    int64_t k = 0;
    while ((field = next_field(&cursor, separators, &more))) {
        double value;
        int numeric = is_number(field, &value);
        if (k == 0 && !numeric && t->rows == 0 && !t->names) {
            names = su_arena_alloc(&t->arena, count, sizeof *names);
            if (!names) return su_fail(err, SU_AGAIN, "%s: not enough memory", path);
        }
        if (names) {
            char *name = su_arena_alloc(&t->arena, (int64_t)strlen(field) + 1, 1);
            if (!name) return su_fail(err, SU_AGAIN, "%s: not enough memory", path);
            strcpy(name, field);
            names[k++] = name;
            continue;
        }
        if (!numeric || !isfinite(value))
            return su_fail(err, SU_INPUT, "%s:%lld: '%.40s' is not a finite number", path, (long long)number, field);
        if (t->rows == 0 && !t->names) t->columns = k + 1;
        if (k >= t->columns)
            return su_fail(err, SU_INPUT, "%s:%lld: more than %lld columns", path, (long long)number,
                           (long long)t->columns);
        int64_t at = t->rows * t->columns + k;
        if (at >= *room) {
            double *grown = realloc(*values, (size_t)(2 * *room + 64) * sizeof **values);
            if (!grown) return su_fail(err, SU_AGAIN, "%s: not enough memory", path);
            *values = grown, *room = 2 * *room + 64;
        }
        (*values)[at] = value;
        k++;
    }
    if (names) {
        t->names = names, t->columns = k;
        return SU_OK;
    }
    if (k != t->columns)
        return su_fail(err, SU_INPUT, "%s:%lld: %lld columns, %lld were expected", path, (long long)number,
                       (long long)k, (long long)t->columns);
    t->rows++;
    return SU_OK;
}

static su_status load_text(const char *path, su_table *t, su_error *err)
{
    su_status status = SU_OK;
    char *line = NULL;
    size_t size = 0;
    double *values = NULL;
    int64_t room = 0, number = 0;
    FILE *in = fopen(path, "r");
    if (!in) return su_fail(err, su_file_status(errno, SU_INPUT), "%s: cannot open: %s", path, strerror(errno));
    ssize_t length;
    errno = 0;
    while ((length = getline(&line, &size, in)) >= 0) {
        number++;
        if (memchr(line, '\0', (size_t)length)) {
            status = su_fail(err, SU_INPUT, "%s:%lld: not a text file", path, (long long)number);
            goto done;
        }
        strip(line);
        if (line[0]) SU_GO(parse_line(t, line, number, path, &values, &room, err));
    }
    if (!feof(in) && errno == ENOMEM) {
        status = su_fail(err, SU_AGAIN, "%s: not enough memory", path);
    } else if (ferror(in)) {
        status = su_fail(err, SU_INPUT, "%s: cannot read it", path);
    } else if (t->rows == 0) {
        status = su_fail(err, SU_INPUT, "%s: holds no row of numbers", path);
    } else if (!(t->values = su_arena_alloc(&t->arena, t->rows * t->columns, sizeof *values))) {
        status = su_fail(err, SU_AGAIN, "%s: not enough memory", path);
    } else {
        memcpy(t->values, values, (size_t)(t->rows * t->columns) * sizeof *values);
    }
done:
    fclose(in);
    free(line);
    free(values);
    return status;
}

static su_status load_npy(const char *path, su_table *t, su_error *err)
{
    int dimensions;
    int64_t shape[SU_MAX_DIMENSIONS];
    void *data = NULL;
    SU_TRY(su_npy_load(path, SU_F64, &dimensions, shape, &data, err));
    su_status status = SU_OK;
    if (dimensions < 1 || dimensions > 2) {
        status = su_fail(err, SU_INPUT, "%s: has %d dimensions, one or two are wanted", path, dimensions);
        goto done;
    }
    t->rows = shape[0], t->columns = dimensions == 2 ? shape[1] : 1;
    if (t->rows < 1 || t->columns < 1) {
        status = su_fail(err, SU_INPUT, "%s: holds no numbers", path);
        goto done;
    }
    if (!(t->values = su_arena_alloc(&t->arena, t->rows * t->columns, sizeof(double)))) {
        status = su_fail(err, SU_AGAIN, "%s: not enough memory", path);
        goto done;
    }
    memcpy(t->values, data, (size_t)(t->rows * t->columns) * sizeof(double));
    for (int64_t i = 0; i < t->rows * t->columns; i++)
        if (!isfinite(t->values[i])) {
            status = su_fail(err, SU_INPUT, "%s: element %lld is not a finite number", path, (long long)i);
            goto done;
        }
done:
    free(data);
    return status;
}

su_status su_table_load(const char *path, su_table *table, su_error *err)
{
    size_t length = strlen(path);
    memset(table, 0, sizeof *table);
    su_status status =
        length > 4 && strcmp(path + length - 4, ".npy") == 0 ? load_npy(path, table, err) : load_text(path, table, err);
    if (status != SU_OK) su_table_free(table);
    return status;
}

void su_table_free(su_table *table)
{
    su_arena_free(&table->arena);
    memset(table, 0, sizeof *table);
}

int64_t su_table_column(const su_table *table, const char *name)
{
    for (int64_t k = 0; table->names && k < table->columns; k++)
        if (strcmp(table->names[k], name) == 0) return k;
    return -1;
}
