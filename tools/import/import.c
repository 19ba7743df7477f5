#include "import.h"

#include "io/table.h"

void import_say_missing(su_tool *tool, const char *missing)
{
    if (missing && *missing) su_warn(tool, "what the file takes from another is left out: %s", missing);
}

void import_say_unread(su_tool *tool, const su_name_list *unread)
{
    su_warn(tool, "one set of texture coordinates and one of colours is kept; caches will be without %s", unread->text);
}

double import_unit(const options *o)
{
    static const double units[] = {0.0, 1.0, 0.01, 0.001, 0.0254, 0.3048};
    return units[o->unit];
}

su_status user_parameters(su_tool *tool, const options *o, int64_t frames, su_parameters *out)
{
    su_table table;
    if (!o->params) return SU_OK;
    SU_TRY(su_table_load(o->params, &table, &tool->err));
    if (table.rows != frames) {
        su_fail(&tool->err, SU_INPUT, "%s: has %lld rows, the clip has %lld frames", o->params, (long long)table.rows,
                (long long)frames);
        su_table_free(&table);
        return SU_INPUT;
    }
    su_parameters_free(out);
    out->arena = table.arena; /* names and values live on in it */
    out->s = table.columns, out->values = table.values, out->names = table.names;
    if (out->names) return SU_OK;
    out->names = su_arena_alloc(&out->arena, out->s, sizeof *out->names);
    char *text = su_arena_alloc(&out->arena, out->s, 32);
    if (!out->names || !text) return su_fail(&tool->err, SU_AGAIN, "not enough memory for the parameters");
    for (int64_t k = 0; k < out->s; k++) {
        snprintf(text + 32 * k, 32, "p%lld", (long long)k);
        out->names[k] = text + 32 * k;
    }
    return SU_OK;
}
