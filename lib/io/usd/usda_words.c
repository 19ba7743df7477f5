/* The words of USD text. */
#include "io/usd/usda_read_internal.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

su_status su_usda_refuse(su_usda_parser *p, const char *what)
{
    int64_t line = 1;
    for (const char *c = p->begin; c < p->at && c < p->end; c++) line += *c == '\n';
    return su_fail(p->err, SU_INPUT, "%s:%lld: %s", p->file->path, (long long)line, what);
}

void su_usda_skip_space(su_usda_parser *p)
{
    while (p->at < p->end) {
        if (*p->at == '#')
            while (p->at < p->end && *p->at != '\n') p->at++;
        else if (isspace((unsigned char)*p->at) || *p->at == ';')
            p->at++;
        else
            break;
    }
}

bool su_usda_next_is(su_usda_parser *p, char c)
{
    su_usda_skip_space(p);
    return p->at < p->end && *p->at == c;
}

bool su_usda_take(su_usda_parser *p, char c)
{
    if (!su_usda_next_is(p, c)) return false;
    p->at++;
    return true;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == ':' || c == '.' || c == '!' || (c & 0x80);
}

su_usd_text su_usda_word(su_usda_parser *p)
{
    su_usda_skip_space(p);
    su_usd_text out = {p->at, 0};
    while (p->at < p->end && is_word(*p->at)) p->at++;
    out.size = p->at - out.at;
    return out;
}

su_status su_usda_quoted(su_usda_parser *p, su_usd_text *out)
{
    char quote = *p->at == '<' ? '>' : *p->at;
    int length = quote != '>' && p->end - p->at > 2 && p->at[1] == quote && p->at[2] == quote ? 3 : 1;
    out->at = p->at;
    for (p->at += length; p->at < p->end; p->at++) {
        if (*p->at == '\\' && (quote == '"' || quote == '\'')) {
            p->at++;
            continue;
        }
        if (*p->at != quote) continue;
        if (length == 3 && !(p->end - p->at > 2 && p->at[1] == quote && p->at[2] == quote)) continue;
        p->at += length;
        out->size = p->at - out->at;
        return SU_OK;
    }
    return su_usda_refuse(p, "a text does not end");
}

static bool is_quote(char c) { return c == '"' || c == '\'' || c == '@' || c == '<'; }

su_status su_usda_bracketed(su_usda_parser *p, su_usd_text *out)
{
    char open[SU_USD_DEEPEST];
    int depth = 0;
    su_usd_text inner;
    out->at = p->at;
    while (p->at < p->end) {
        char c = *p->at;
        if (c == '#') {
            su_usda_skip_space(p);
            continue;
        }
        if (is_quote(c)) {
            SU_TRY(su_usda_quoted(p, &inner));
            continue;
        }
        p->at++;
        if (c == '(' || c == '[' || c == '{') {
            if (depth == SU_USD_DEEPEST) return su_usda_refuse(p, "brackets are nested too deeply");
            open[depth++] = c;
        } else if (c == ')' || c == ']' || c == '}') {
            if (depth == 0 || (open[depth - 1] == '(') != (c == ')') || (open[depth - 1] == '[') != (c == ']'))
                return su_usda_refuse(p, "brackets do not match");
            if (--depth == 0) {
                out->size = p->at - out->at;
                return SU_OK;
            }
        }
    }
    return su_usda_refuse(p, "a bracket is not closed");
}

su_status su_usda_value(su_usda_parser *p, su_usd_text *out)
{
    su_usda_skip_space(p);
    if (p->at >= p->end) return su_usda_refuse(p, "a value is missing");
    if (is_quote(*p->at)) return su_usda_quoted(p, out);
    if (*p->at == '(' || *p->at == '[' || *p->at == '{') return su_usda_bracketed(p, out);
    out->at = p->at;
    while (p->at < p->end && (is_word(*p->at) || *p->at == '-' || *p->at == '+')) p->at++;
    out->size = p->at - out->at;
    return out->size ? SU_OK : su_usda_refuse(p, "a value is missing");
}

su_usd_text su_usda_unquoted(su_usd_text text) { return su_usd_token((su_usd_value){.text = text}); }

bool su_usda_number(su_usda_parser *p, double *out)
{
    enum { LONGEST = 63 };
    char text[LONGEST + 1] = "", *stop;
    su_usda_skip_space(p);
    for (int k = 0; k < LONGEST && p->at + k < p->end && p->at[k] != ':'; k++) text[k] = p->at[k];
    *out = strtod(text, &stop);
    p->at += stop - text;
    return stop != text && isfinite(*out);
}
