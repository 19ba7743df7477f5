#include "rig/name_words.h"

#include <ctype.h>
#include <stdbool.h>

/* Letters with accents, U+00C0 to U+00FF, are 0xC3 and another byte in UTF-8; the names of parts are without. */
enum { LATIN = 0xC3, MARKS = 0xCC, MORE_MARKS = 0xCD };

static char plain_letter(unsigned char second)
{
    static const char letters[] = "AAAAAAACEEEEIIIIDNOOOOO_OUUUUYTsaaaaaaaceeeeiiiidnooooo_ouuuuyty";
    return second >= 0x80 && second < 0xC0 ? letters[second - 0x80] : '_';
}

/* An accent that stands behind its letter (U+0300 to U+036F; file systems and some programs take letters apart). */
static bool is_mark(unsigned char c, unsigned char next)
{
    return (c == MARKS && next >= 0x80) || (c == MORE_MARKS && next >= 0x80 && next < 0xB0);
}

void su_name_words_split(const char *name, su_name_words *out)
{
    size_t length = 0;
    bool within = false, small = false; /* whether the letter before was one, and no capital */
    out->words = 0;
    for (size_t i = 0; name && name[i] && length < SU_NAME_LETTERS && out->words < SU_NAME_WORDS; i++) {
        unsigned char c = (unsigned char)name[i];
        if (is_mark(c, (unsigned char)name[i + 1])) {
            i++;
            continue;
        }
        if (c == LATIN && name[i + 1]) c = (unsigned char)plain_letter((unsigned char)name[++i]);
        if (isalpha(c)) {
            if (!within || (isupper(c) && small)) out->first[out->words++] = length;
            out->letters[length++] = (char)tolower(c);
        }
        within = isalpha(c), small = islower(c);
    }
    out->first[out->words] = length;
}
