/* What the files of usda_read share: where the text is being read, and its words. */
#ifndef SU_IO_USDA_READ_INTERNAL_H
#define SU_IO_USDA_READ_INTERNAL_H

#include "io/usd/usd_layer.h"

typedef struct su_usda_parser {
    su_usd_layer *file;
    const char *begin;
    const char *at, *end;
    int64_t prim_room, attribute_room, arc_room;
    su_error *err;
} su_usda_parser;

/* ---- usda_words.c ---- */

/* SU_INPUT: says what is wrong, and in which line. */
su_status su_usda_refuse(su_usda_parser *p, const char *what);
void su_usda_skip_space(su_usda_parser *p);
/* Whether a letter follows, behind what is no text; take goes past it. */
bool su_usda_next_is(su_usda_parser *p, char c);
bool su_usda_take(su_usda_parser *p, char c);
/* Letters, digits and what names are made of; size 0 where something else stands there. */
su_usd_text su_usda_word(su_usda_parser *p);
/* A number of at most 63 letters; what follows may be the end of the layer. */
bool su_usda_number(su_usda_parser *p, double *out);
/* "text", 'text', """text""", '''text''', @asset@, @@@asset@@@, <path>: with its ends; and without. */
su_status su_usda_quoted(su_usda_parser *p, su_usd_text *out);
su_usd_text su_usda_unquoted(su_usd_text text);
/* What stands between brackets, with them. */
su_status su_usda_bracketed(su_usda_parser *p, su_usd_text *out);
/* Any of these, or a word or number. */
su_status su_usda_value(su_usda_parser *p, su_usd_text *out);

/* ---- usda_arcs.c ---- */

/* The kind of arc that metadata of a name are; false: none. */
bool su_usda_arc_kind(su_usd_text key, su_usd_arc_kind *kind);
/* What such metadata say, behind their "=": one arc, a list of them in brackets, or None. */
su_status su_usda_arcs(su_usda_parser *p, su_usd_arc_kind kind, char edit);
/* Of "variants": { string set = "name" }. */
su_status su_usda_selections(su_usda_parser *p);

#endif
