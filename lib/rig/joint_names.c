#include "rig/joint_names.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

/* Over soft flesh. STIFF is what made hands, feet and skulls stand still where flesh was let loose at 4 Hz (measured on
 * characters of public repositories: thirty times; docs/reduction.md); LIMB for what has bone under little flesh. */
static const double STIFF = 30, LIMB = 3, SOFT = 1;

typedef struct part_words {
    const double *factor;
    const char *words; /* separated and surrounded by spaces */
} part_words;

static const part_words parts[] = {
    {&SOFT, " cheek jowl ear trunk wattle dewlap crest belly stomach abdomen breast boob bust butt buttock glute bum "
            "fat muscle "},
    {&STIFF,
     " head forehead skull cranium jaw chin face eye eyeball eyelid eyebrow brow lid lip mouth teeth tooth fang "
     "tongue nose nostril muzzle snout beak hair braid ponytail bang beard mustache horn antler tusk antenna "
     "hat helmet crown hood glasses hand wrist palm finger thumb index middle ring pinky foot feet toe ankle "
     "ball heel hoof paw claw talon nail pastern fetlock fin weapon sword axe shield gun staff bow prop item "
     "handslot "},
    {&LIMB, " forearm lowerarm shin lowerleg knee elbow hock "},
};

static double stiffness_of_word(const char *word, size_t length)
{
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++)
        for (const char *at = parts[p].words; (at = strchr(at, ' ')) && at[1];) {
            const char *end = strchr(++at, ' ');
            size_t wanted = (size_t)(end - at);
            if (!strncmp(at, word, wanted) && (length == wanted || (length == wanted + 1 && word[wanted] == 's')))
                return *parts[p].factor;
        }
    return 0;
}

/* A word with its side taken off: lefthand, handleft, rfoot and footr are not told from other words, so only left and
 * right. */
static double stiffness_of(const char *word, size_t length)
{
    static const char *const sides[] = {"left", "right"};
    double found = stiffness_of_word(word, length);
    for (int s = 0; s < 2 && found == 0; s++) {
        size_t side = strlen(sides[s]);
        if (length <= side) continue;
        if (!strncmp(word, sides[s], side)) found = stiffness_of_word(word + side, length - side);
        if (found == 0 && !strncmp(word + length - side, sides[s], side))
            found = stiffness_of_word(word, length - side);
    }
    return found;
}

double su_joint_name_stiffness(const char *name)
{
    enum { LONGEST = 256, WORDS = 32 };
    char letters[LONGEST];
    size_t first[WORDS + 1], length = 0;
    int words = 0;
    if (!name) return 0;
    for (size_t i = 0; name[i] && length < LONGEST && words < WORDS; i++) {
        unsigned char c = (unsigned char)name[i], before = i ? (unsigned char)name[i - 1] : 0;
        if (!isalpha(c)) continue;
        if (!isalpha(before) || (isupper(c) && islower(before))) first[words++] = length;
        letters[length++] = (char)tolower(c);
    }
    first[words] = length;
    /* The last word that says something: in LeftHandRing a finger, in Head_Cheek a cheek; two words may be one. */
    for (int w = words - 1; w >= 0; w--) {
        double found = stiffness_of(letters + first[w], first[w + 1] - first[w]);
        if (found == 0 && w > 0) found = stiffness_of(letters + first[w - 1], first[w + 1] - first[w - 1]);
        if (found > 0) return found;
    }
    return 0;
}

void su_joint_stiffness(int64_t bones, const char *const *names, const int32_t *parent, double *factor)
{
    for (int64_t b = 0; b < bones; b++) {
        double own = su_joint_name_stiffness(names[b]);
        factor[b] = own > 0 ? own : parent && parent[b] >= 0 && parent[b] < b ? factor[parent[b]] : 1;
    }
}

void su_joint_values_at_skin(int64_t nbar, int64_t bones, const float *weights, const double *value, double *out)
{
    for (int64_t v = 0; v < nbar; v++) {
        double sum = 0, whole = 0;
        for (int64_t b = 0; b < bones; b++) {
            double w = weights[v * bones + b];
            if (w > 0) sum += w * value[b], whole += w;
        }
        out[v] = whole > 0 ? sum / whole : 0;
    }
}
