/* The words of a joint's name: `mixamorig:LeftHandThumb1`, `DEF-head.001`, `foot_r`. */
#ifndef SU_RIG_NAME_WORDS_H
#define SU_RIG_NAME_WORDS_H

#include <stddef.h>

enum { SU_NAME_LETTERS = 256, SU_NAME_WORDS = 32 };

/* Word w is letters[first[w]] .. letters[first[w + 1] - 1], in small letters without accents, not ended by 0. */
typedef struct su_name_words {
    int words;
    size_t first[SU_NAME_WORDS + 1];
    char letters[SU_NAME_LETTERS];
} su_name_words;

/* Words begin behind what is no letter, and with a capital behind a small letter; digits count for nothing, and what is
 * longer than there is room for is cut off. name NULL: none. */
void su_name_words_split(const char *name, su_name_words *out);

#endif
