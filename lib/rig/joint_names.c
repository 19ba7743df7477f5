#include "rig/joint_names.h"

#include "rig/name_words.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Words are English, then French, German, Spanish, Portuguese and Italian without accents (main is a hand where a side
 * stands behind it: Main is many a root). Over soft flesh. STIFF is what made hands, feet and skulls stand still where
 * flesh was let loose at 4 Hz (measured on characters of public repositories: thirty times; docs/reduction.md); LIMB
 * for what has bone under little flesh. */
static const double STIFF = 30, LIMB = 3, SOFT = 1;

typedef struct part_words {
    const double *factor;
    const char *words; /* separated and surrounded by spaces */
} part_words;

static const part_words parts[] = {
    {&SOFT,
     " cheek jowl ear trunk wattle dewlap crest belly stomach abdomen breast boob bust butt buttock glute bum "
     "fat muscle "
     "joue wange mejilla bochecha guancia oreille ohr oreja orelha orecchio ventre bauch barriga pancia sein fesse "},
    {&STIFF,
     " head forehead skull cranium jaw chin face eye eyeball eyelid eyebrow brow lid lip mouth teeth tooth fang "
     "tongue nose nostril muzzle snout beak hair braid ponytail bang beard mustache horn antler tusk antenna "
     "hat helmet crown hood glasses hand wrist palm finger thumb pinky foot feet toe ankle "
     "ball heel hoof paw claw talon nail pastern fetlock fin wing feather weapon sword axe shield gun staff prop "
     "item handslot stick club wand spear lance trident pitchfork scythe hammer mace dagger knife rifle pistol arrow "
     "quiver torch lantern cane umbrella "
     "tete kopf cabeza cabeca testa crane schadel machoire kiefer mandibula visage gesicht oeil auge ojo olho occhio "
     "nez nase nariz naso bouche mund boca bocca langue zunge lengua lingua cheveu haar pelo cabello cabelo capelli "
     "maindroite maingauche mano mao doigt dedo dito pouce daumen pulgar pollice polegar poignet handgelenk muneca "
     "polso pied fus fuss pie piede orteil zehe cheville knochel tobillo caviglia tornozelo sabot huf griffe kralle "
     "aile flugel ala asa epee schwert espada spada bouclier escudo scudo chapeau sombrero "},
    {&LIMB, " forearm lowerarm shin lowerleg knee elbow hock "
            "avantbras unterarm antebrazo antebraco avambraccio unterschenkel schienbein genou knie rodilla joelho "
            "ginocchio coude ellbogen codo cotovelo gomito "},
    {NULL, NULL},
};

/* What hangs on a head and on nothing else. */
static const part_words of_heads[] = {
    {&STIFF, " face visage gesicht eye eyeball eyelid eyebrow brow ear jaw mouth lip teeth tooth tongue nose nostril "
             "muzzle snout beak cheek "
             "hair braid ponytail bang beard mustache horn antler "},
    {NULL, NULL},
};

static double stiffness_of_word(const part_words *part, const char *word, size_t length)
{
    for (; part->words; part++)
        for (const char *at = part->words; (at = strchr(at, ' ')) && at[1];) {
            const char *end = strchr(++at, ' ');
            size_t wanted = (size_t)(end - at);
            if (!strncmp(at, word, wanted) && (length == wanted || (length == wanted + 1 && word[wanted] == 's')))
                return *part->factor;
        }
    return 0;
}

/* A word, or what is left of it without its side: lefthand, handleft, and forearml, as programs write that leave out
 * the dot of forearm.l. A letter in front is no side: a rear leg is no ear. */
static double stiffness_of(const part_words *part, const char *word, size_t length)
{
    static const struct {
        const char *name;
        bool in_front;
    } sides[] = {{"left", true}, {"right", true}, {"left", false}, {"right", false}, {"l", false}, {"r", false}};
    double found = stiffness_of_word(part, word, length);
    for (size_t s = 0; s < sizeof sides / sizeof *sides && found == 0; s++) {
        size_t side = strlen(sides[s].name);
        const char *at = sides[s].in_front ? word : word + length - side;
        if (length <= side || strncmp(at, sides[s].name, side) != 0) continue;
        found = stiffness_of_word(part, sides[s].in_front ? word + side : word, length - side);
    }
    return found;
}

/* What a name says by one of the lists, 0: nothing. */
static double stiffness_of_name(const part_words *part, const char *name)
{
    su_name_words of;
    su_name_words_split(name, &of);
    const char *letters = of.letters;
    const size_t *first = of.first;
    /* The last word that says something: in LeftHandRing a finger, in Head_Cheek a cheek; two words may be one, in
     * either order (leg lower). */
    for (int w = of.words - 1; w >= 0; w--) {
        size_t own = first[w + 1] - first[w], before = w > 0 ? first[w] - first[w - 1] : 0;
        double found = stiffness_of(part, letters + first[w], own);
        if (found == 0 && w > 0) found = stiffness_of(part, letters + first[w - 1], before + own);
        if (found == 0 && w > 0) {
            char swapped[SU_NAME_LETTERS];
            memcpy(swapped, letters + first[w], own);
            memcpy(swapped + own, letters + first[w - 1], before);
            found = stiffness_of(part, swapped, before + own);
        }
        if (found > 0) return found;
    }
    return 0;
}

double su_joint_name_stiffness(const char *name) { return stiffness_of_name(parts, name); }

/* A joint that carries a face, eyes, ears, hair or a jaw is a head, whatever it is called (Rigify's is spine.006),
 * where it carries no other part of a body and stands on so many joints at least: a neck, a chest and hips. */
enum { BELOW_A_HEAD = 3 };

static bool is_head(int64_t bones, const char *const *names, const int32_t *parent, int64_t joint)
{
    int64_t below = 0, at = joint;
    bool carries = false;
    while (below < BELOW_A_HEAD && parent[at] >= 0) at = parent[at], below++;
    if (below < BELOW_A_HEAD) return false;
    for (int64_t b = 0; b < bones; b++) {
        if (parent[b] != joint) continue;
        bool of_head = stiffness_of_name(of_heads, names[b]) > 0;
        if (!of_head && su_joint_name_stiffness(names[b]) > 0) return false;
        carries |= of_head;
    }
    return carries;
}

/* What necks are called, what begins where they do, and a skull. */
static const part_words of_necks[] = {{&SOFT, " spine neck vertebra "}, {NULL, NULL}};
static const part_words of_neck[] = {{&SOFT, " neck "}, {NULL, NULL}};
static const part_words of_arms[] = {{&SOFT, " arm upperarm forearm shoulder clavicle collar scapula humerus "},
                                     {NULL, NULL}};
#define HANDS " hand wrist palm finger thumb paw hoof claw maindroite maingauche mano mao doigt dedo dito "
static const part_words of_hands[] = {{&STIFF, HANDS}, {NULL, NULL}};
static const part_words skulls[] = {{&STIFF, " head skull tete kopf cabeza cabeca testa "}, {NULL, NULL}};

/* A joint above which a head begins carries it where what is called its head carries less than this part of what it
 * does itself: the smallest head on the longest neck is well above (a null at a skull's top is at 0.0003). */
static const double LEAST_HEAD = 0.1;

static bool carries_nothing(const int32_t *parent, const double *carried, int64_t joint)
{
    return carried && parent[joint] >= 0 && carried[joint] < LEAST_HEAD * carried[parent[joint]];
}

/* In a rig that calls nothing a head, the end of its spine or neck past the joint that arms begin at is one, though it
 * carries nothing else (Rigify's spine.006 without the bones of a face). Of spines that stand on so many joints: a
 * tail's end may be called so. */
static bool is_end_of_neck(int64_t bones, const char *const *names, const int32_t *parent, const double *carried,
                           int64_t joint)
{
    int64_t below = 0;
    bool past_arms = false;
    if (stiffness_of_name(of_necks, names[joint]) == 0) return false;
    for (int64_t b = 0; b < bones; b++)
        if ((parent[b] == joint || stiffness_of_name(skulls, names[b]) > 0) && !carries_nothing(parent, carried, b))
            return false;
    for (int64_t at = parent[joint]; at >= 0; at = parent[at], below++)
        for (int64_t b = 0; b < bones && !past_arms; b++)
            past_arms = parent[b] == at && stiffness_of_name(of_arms, names[b]) > 0;
    return past_arms && (below >= BELOW_A_HEAD || stiffness_of_name(of_neck, names[joint]) > 0);
}

/* What is a finger where an arm or a hand carries it, and no more than a place elsewhere (of an ear, of a spine). */
static const part_words of_fingers[] = {{&STIFF, " index middle ring "}, {NULL, NULL}};

static bool is_finger(const char *const *names, const int32_t *parent, int64_t joint)
{
    if (stiffness_of_name(of_fingers, names[joint]) == 0) return false;
    for (int64_t at = parent[joint]; at >= 0; at = parent[at])
        if (stiffness_of_name(of_arms, names[at]) > 0 || stiffness_of_name(of_hands, names[at]) > 0) return true;
    return false;
}

/* Whether two names differ in nothing but numbers, marks between words and capitals. */
static bool same_letters(const char *a, const char *b)
{
    for (;; a++, b++) {
        while (*a && !isalpha((unsigned char)*a)) a++;
        while (*b && !isalpha((unsigned char)*b)) b++;
        if (!*a || !*b) return *a == *b;
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b)) return false;
    }
}

/* A skull is one joint. So many heads in a row, numbered alike, bend: they are the trunk of a creature that has no
 * other (Head, Head2, Head3 of monsters). */
enum { HEADS_OF_A_TRUNK = 3 };

static void mark_trunks(int64_t bones, const char *const *names, const int32_t *parent, double *factor)
{
    for (int64_t top = 0; top < bones; top++) {
        int64_t row = 1, at = top;
        if (!names[top] || stiffness_of_name(skulls, names[top]) == 0) continue;
        for (; parent[at] >= 0 && names[parent[at]] && same_letters(names[parent[at]], names[top]); at = parent[at])
            row++;
        if (row < HEADS_OF_A_TRUNK) continue;
        factor[at = top] = SOFT;
        for (int64_t k = 1; k < row; k++) factor[at = parent[at]] = SOFT;
    }
}

/* A rig that has no hands lets its forearms end in them (blocks, robots, toys), or its arms where it has no forearms
 * either, and one without feet its shins, or the last of two legs in a row where it has no shins either (LegA, LegB).
 * Not legs of one joint: beside hard legs the trunk of a dog of blocks stood still. */
typedef struct limb {
    part_words end[2], last[2];
    int row;      /* joints called so in a row, at least */
    bool fingers; /* end it, too */
} limb;

#define FEET " foot feet toe ankle ball heel hoof paw claw talon pastern fetlock pied fus fuss pie piede "

static const limb limbs[] = {
    {{{&STIFF, HANDS}, {NULL, NULL}}, {{&STIFF, " forearm lowerarm "}, {NULL, NULL}}, 1, true},
    {{{&STIFF, HANDS "forearm lowerarm elbow "}, {NULL, NULL}}, {{&STIFF, " arm upperarm "}, {NULL, NULL}}, 1, true},
    {{{&STIFF, FEET}, {NULL, NULL}}, {{&STIFF, " shin lowerleg "}, {NULL, NULL}}, 1, false},
    {{{&STIFF, FEET "shin lowerleg knee hock "}, {NULL, NULL}},
     {{&STIFF, " leg upleg upperleg "}, {NULL, NULL}},
     2,
     false},
};

/* Controls that no skin follows are no hands or feet. */
static void mark_ends(int64_t bones, const char *const *names, const int32_t *parent, const double *carried,
                      double *factor)
{
    for (size_t k = 0; k < sizeof limbs / sizeof *limbs; k++) {
        bool has_end = false;
        for (int64_t b = 0; b < bones; b++)
            has_end |=
                (stiffness_of_name(limbs[k].end, names[b]) > 0 || (limbs[k].fingers && is_finger(names, parent, b))) &&
                (!carried || carried[b] > 0);
        for (int64_t b = 0; b < bones && !has_end; b++) {
            int row = 0;
            for (int64_t up = b; up >= 0 && stiffness_of_name(limbs[k].last, names[up]) > 0; up = parent[up]) row++;
            bool is_last = row >= limbs[k].row;
            for (int64_t c = 0; c < bones && is_last; c++)
                is_last = parent[c] != b || stiffness_of_name(limbs[k].last, names[c]) == 0;
            if (is_last) factor[b] = STIFF;
        }
    }
}

/* Where the names of all joints that skin follows say nothing (Bone.004, Joint13), limbs end in heads, hands, feet and
 * what these hold: the last of two such joints or more behind the one that limbs part at. In a body with so many limbs
 * at least: a snake has none. */
enum { LIMBS_OF_A_BODY = 4, JOINTS_OF_A_LIMB = 2 };

static bool is_at_or_below(const int32_t *parent, int64_t joint, int64_t above)
{
    while (joint > above) joint = parent[joint]; /* parents stand before their children */
    return joint == above;
}

/* Skin follows a joint below `above` (-1: what all roots hang on), and neither what is at nor below `but` (bones: no
 * matter which). */
static bool leads_elsewhere(int64_t bones, const int32_t *parent, const double *carried, int64_t above, int64_t but)
{
    for (int64_t b = above + 1; b < bones; b++)
        if (carried[b] > 0 && is_at_or_below(parent, b, above) && !is_at_or_below(parent, b, but)) return true;
    return false;
}

static bool ends_a_limb(int64_t bones, const int32_t *parent, const double *carried, int64_t joint)
{
    int row = 1;
    if (!(carried[joint] > 0) || leads_elsewhere(bones, parent, carried, joint, bones)) return false;
    for (int64_t above = parent[joint];; joint = above, above = parent[above]) {
        if (leads_elsewhere(bones, parent, carried, above, joint)) return row >= JOINTS_OF_A_LIMB;
        if (above < 0) return false;
        row += carried[above] > 0;
    }
}

static void mark_unnamed_ends(int64_t bones, const int32_t *parent, const double *carried, double *factor)
{
    int ends = 0;
    for (int64_t b = 0; b < bones; b++)
        if (carried[b] > 0 && factor[b] > 0) return;
    for (int64_t b = 0; b < bones; b++) ends += ends_a_limb(bones, parent, carried, b);
    for (int64_t b = 0; b < bones && ends >= LIMBS_OF_A_BODY; b++)
        if (ends_a_limb(bones, parent, carried, b)) factor[b] = STIFF;
}

void su_joint_stiffness(int64_t bones, const char *const *names, const int32_t *parent, const double *carried,
                        double *factor)
{
    for (int64_t b = 0; b < bones; b++) {
        factor[b] = su_joint_name_stiffness(names[b]);
        if (factor[b] == 0 && parent &&
            (is_head(bones, names, parent, b) || is_end_of_neck(bones, names, parent, carried, b) ||
             is_finger(names, parent, b)))
            factor[b] = STIFF;
    }
    if (parent) mark_trunks(bones, names, parent, factor);
    if (parent) mark_ends(bones, names, parent, carried, factor);
    if (parent && carried) mark_unnamed_ends(bones, parent, carried, factor);
    for (int64_t b = 0; b < bones; b++)
        if (factor[b] == 0) factor[b] = parent && parent[b] >= 0 && parent[b] < b ? factor[parent[b]] : 1;
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

void su_joints_carry(int64_t nbar, int64_t bones, const float *weights, double *carried)
{
    for (int64_t b = 0; b < bones; b++) carried[b] = 0;
    for (int64_t v = 0; v < nbar; v++)
        for (int64_t b = 0; b < bones; b++)
            if (weights[v * bones + b] > 0) carried[b] += weights[v * bones + b];
}
