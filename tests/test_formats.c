/* docs/formats.md and the tables in lib/io/ say the same: every array has its row there, and no row is left over. */
#include "io/stage/schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *page;

static int read_page(void **state)
{
    (void)state;
    FILE *file = fopen("docs/formats.md", "rb"); /* tests run in the project's folder */
    if (!file) return -1;
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    page = calloc((size_t)size + 1, 1);
    size_t got = fread(page, 1, (size_t)size, file);
    fclose(file);
    return got == (size_t)size ? 0 : -1;
}

static int free_page(void **state)
{
    (void)state;
    free(page);
    return 0;
}

static void row_of(const su_schema *schema, const su_field *field, char *out, size_t room)
{
    char shape[100];
    su_field_shape_text(schema, field, shape, sizeof shape);
    snprintf(out, room, "| `%s` | %s | %s | %s | %s%s |\n", field->name, su_dtype_name(field->type), shape, field->unit,
             field->flags & SU_FIELD_OPTIONAL ? "*optional:* " : "", field->meaning);
}

static void test_every_array_has_its_row(void **state)
{
    (void)state;
    for (const su_schema *const *at = su_schemas; *at; at++) {
        char heading[100], row[1000];
        snprintf(heading, sizeof heading, "\n## %s\n", (*at)->kind);
        const char *section = strstr(page, heading);
        if (!section) fail_msg("docs/formats.md has no section '%s'", (*at)->kind);
        const char *end = strstr(section + 1, "\n## ");
        int rows = 0;
        for (int i = 0; i < (*at)->count; i++) {
            row_of(*at, &(*at)->fields[i], row, sizeof row);
            const char *found = strstr(section, row);
            if (!found || (end && found > end)) fail_msg("docs/formats.md, %s, lacks this row:\n%s", (*at)->kind, row);
        }
        for (const char *line = strstr(section, "\n| `"); line && (!end || line < end);
             line = strstr(line + 1, "\n| `"))
            rows++;
        if (rows != (*at)->count)
            fail_msg("docs/formats.md, %s, has %d rows for %d arrays", (*at)->kind, rows, (*at)->count);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_array_has_its_row)};
    return cmocka_run_group_tests(tests, read_page, free_page);
}
