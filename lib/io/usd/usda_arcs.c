/* What USD text takes from elsewhere: its composition arcs. */
#include "io/usd/usda_read_internal.h"

#include <string.h>

/* Without the ends of @asset@, @@@asset@@@ and <path>. */
static su_usd_text inside(su_usd_text text)
{
    int64_t ends = text.size > 5 && memcmp(text.at, "@@@", 3) == 0 ? 3 : 1;
    return (su_usd_text){text.at + ends, text.size - 2 * ends};
}

/* "@asset@</prim> (offset = 1; scale = 2)", each part of it where it stands. */
static su_status read_arc(su_usda_parser *p, su_usd_arc arc)
{
    su_usd_text v;
    if (su_usda_next_is(p, '@')) {
        SU_TRY(su_usda_quoted(p, &v));
        arc.asset = inside(v);
    }
    if (su_usda_next_is(p, '<')) {
        SU_TRY(su_usda_quoted(p, &v));
        arc.prim = inside(v);
    } else if (!arc.asset.size) {
        return su_usda_refuse(p, "a reference to nothing");
    }
    if (su_usda_take(p, '('))
        while (!su_usda_take(p, ')')) {
            su_usd_text key = su_usda_word(p);
            double *number = su_usd_is(key, "offset") ? &arc.offset : su_usd_is(key, "scale") ? &arc.scale : NULL;
            if (!number && key.size > 0) key = su_usda_word(p); /* "dictionary customData" */
            if (!key.size || !su_usda_take(p, '=')) return su_usda_refuse(p, "a reference cannot be read");
            if (!number) {
                SU_TRY(su_usda_value(p, &v));
            } else if (!su_usda_number(p, number)) {
                return su_usda_refuse(p, "a time of a reference is no number");
            }
            (void)su_usda_take(p, ',');
        }
    return su_usd_add_arc(p->file, &p->arc_room, arc, p->err);
}

su_status su_usda_arcs(su_usda_parser *p, su_usd_arc_kind kind, char edit)
{
    su_usd_arc arc = {.kind = kind, .edit = edit, .scale = 1};
    if (!su_usda_take(p, '[')) {
        const char *back = p->at;
        if (!su_usd_is(su_usda_word(p), "None")) {
            p->at = back;
            return read_arc(p, arc);
        }
    } else {
        int64_t before = p->file->arcs;
        while (!su_usda_take(p, ']')) {
            SU_TRY(read_arc(p, arc));
            (void)su_usda_take(p, ',');
        }
        if (p->file->arcs > before) return SU_OK;
    }
    return edit == 'e' ? su_usd_add_arc(p->file, &p->arc_room, arc, p->err) : SU_OK; /* of nothing: hides weaker ones */
}

su_status su_usda_selections(su_usda_parser *p)
{
    if (!su_usda_take(p, '{')) return su_usda_refuse(p, "a selection of variants cannot be read");
    while (!su_usda_take(p, '}')) {
        su_usd_text v;
        (void)su_usda_word(p); /* string */
        su_usd_arc arc = {.kind = SU_USD_SELECTION, .edit = 'e', .scale = 1};
        if (su_usda_next_is(p, '"') || su_usda_next_is(p, '\'')) {
            SU_TRY(su_usda_quoted(p, &v));
            arc.asset = su_usda_unquoted(v);
        } else {
            arc.asset = su_usda_word(p);
        }
        if (!arc.asset.size || !su_usda_take(p, '='))
            return su_usda_refuse(p, "a selection of variants cannot be read");
        SU_TRY(su_usda_value(p, &v));
        arc.prim = su_usda_unquoted(v);
        (void)su_usda_take(p, ',');
        SU_TRY(su_usd_add_arc(p->file, &p->arc_room, arc, p->err));
    }
    return SU_OK;
}

bool su_usda_arc_kind(su_usd_text key, su_usd_arc_kind *kind)
{
    static const struct {
        const char *key;
        su_usd_arc_kind kind;
    } arcs[] = {{"subLayers", SU_USD_SUBLAYER},
                {"inherits", SU_USD_INHERIT},
                {"references", SU_USD_REFERENCE},
                {"payload", SU_USD_PAYLOAD},
                {"specializes", SU_USD_SPECIALIZE}};
    for (size_t i = 0; i < sizeof arcs / sizeof *arcs; i++)
        if (su_usd_is(key, arcs[i].key)) {
            *kind = arcs[i].kind;
            return true;
        }
    return false;
}
