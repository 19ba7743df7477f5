#include "rig/human_bones.h"

#include "rig/name_words.h"

#include <string.h>

/* What words mean that another joint may claim: LeftHip is a thigh where no joint is called so, LeftLeg a thigh or a
 * shin, LeftArm an upper or a lower arm, LeftShoulder an upper arm where there is none but it. */
enum { ANY_HIP = SU_HUMAN_PARTS, ANY_LEG, ANY_ARM, ANY_SHOULDER };

static const struct {
    const char *word;
    int8_t part;
} words_of_parts[] = {
    {"head", SU_HUMAN_HEAD},
    {"spine", SU_HUMAN_SPINE},
    {"shoulder", ANY_SHOULDER},
    {"clavicle", SU_HUMAN_SHOULDER},
    {"collar", SU_HUMAN_SHOULDER},
    {"collarbone", SU_HUMAN_SHOULDER},
    {"upperarm", SU_HUMAN_UPPER_ARM},
    {"uparm", SU_HUMAN_UPPER_ARM},
    {"shldr", SU_HUMAN_UPPER_ARM},
    {"lowarm", SU_HUMAN_LOWER_ARM},
    {"lowleg", SU_HUMAN_LOWER_LEG},
    {"arm", ANY_ARM},
    {"lowerarm", SU_HUMAN_LOWER_ARM},
    {"forearm", SU_HUMAN_LOWER_ARM},
    {"elbow", SU_HUMAN_LOWER_ARM},
    {"hand", SU_HUMAN_HAND},
    {"wrist", SU_HUMAN_HAND},
    {"upperleg", SU_HUMAN_UPPER_LEG},
    {"upleg", SU_HUMAN_UPPER_LEG},
    {"thigh", SU_HUMAN_UPPER_LEG},
    {"hip", ANY_HIP},
    {"leg", ANY_LEG},
    {"lowerleg", SU_HUMAN_LOWER_LEG},
    {"shin", SU_HUMAN_LOWER_LEG},
    {"calf", SU_HUMAN_LOWER_LEG},
    {"knee", SU_HUMAN_LOWER_LEG},
    {"foot", SU_HUMAN_FOOT},
    {"ankle", SU_HUMAN_FOOT},
    {"toe", SU_HUMAN_TOES},
    {"toes", SU_HUMAN_TOES},
    {"toebase", SU_HUMAN_TOES},
    {"ball", SU_HUMAN_TOES},
    {"thumb", SU_HUMAN_THUMB},
    {"index", SU_HUMAN_INDEX},
    {"middle", SU_HUMAN_MIDDLE},
    {"ring", SU_HUMAN_RING},
    {"little", SU_HUMAN_LITTLE},
    {"pinky", SU_HUMAN_LITTLE},
};

static bool is_finger(int part) { return part >= SU_HUMAN_THUMB && part <= SU_HUMAN_LITTLE; }
static bool is_limb(int part) { return part >= SU_HUMAN_SHOULDER; }

/* What one name says; lead: a hash of the words in front, by which those of one skeleton agree. */
typedef struct said {
    int8_t part, side;
    uint64_t lead;
} said;

typedef struct word {
    const char *at;
    size_t length;
} word;

static bool is_word(const word *w, const char *text)
{
    return w->length == strlen(text) && strncmp(w->at, text, w->length) == 0;
}

static bool is_one_of(const word *w, const char *const *texts)
{
    for (; *texts; texts++)
        if (is_word(w, *texts)) return true;
    return false;
}

/* The part that some words joined are called: fingers may be said to be of a hand, or to be fingers. */
static int part_of(int count, const word *w)
{
    static const char *const of_fingers[] = {"hand", "finger", NULL};
    char text[SU_NAME_LETTERS + 1];
    size_t length = 0;
    if (count == 2 && (is_one_of(&w[0], of_fingers) || is_one_of(&w[1], of_fingers))) {
        int finger = part_of(1, is_one_of(&w[0], of_fingers) ? &w[1] : &w[0]);
        if (is_finger(finger)) return finger;
    }
    for (int k = 0; k < count; k++) memcpy(text + length, w[k].at, w[k].length), length += w[k].length;
    text[length] = 0;
    for (size_t k = 0; k < sizeof words_of_parts / sizeof *words_of_parts; k++)
        if (strcmp(text, words_of_parts[k].word) == 0) return words_of_parts[k].part;
    return SU_HUMAN_NONE;
}

/* A side, or a part with one in front or behind it (leftarm, rshldr, forearml), of which the side is cut off: 1 left,
 * -1 right, 0 none. */
static int take_side(word *w)
{
    static const struct {
        const char *name;
        int side;
    } sides[] = {{"left", 1}, {"right", -1}, {"lft", 1}, {"rgt", -1}, {"l", 1}, {"r", -1}, {"c", 0}};
    for (size_t k = 0; k < sizeof sides / sizeof *sides; k++) {
        const size_t length = strlen(sides[k].name);
        if (is_word(w, sides[k].name)) {
            w->length = 0;
            return sides[k].side;
        }
        if (sides[k].side == 0 || w->length <= length || part_of(1, w)) continue;
        const word front = {w->at + length, w->length - length}, back = {w->at, w->length - length};
        if (strncmp(w->at, sides[k].name, length) == 0 && part_of(1, &front))
            *w = front;
        else if (strncmp(w->at + back.length, sides[k].name, length) == 0 && part_of(1, &back))
            *w = back;
        else
            continue;
        return sides[k].side;
    }
    return 0;
}

static said read_name(const char *name)
{
    static const char *const behind[] = {"bone", "joint", "jnt", "bend", "proximal", "intermediate", "distal", NULL},
                             *const palm[] = {"metacarpal", NULL};
    su_name_words split;
    word w[SU_NAME_WORDS];
    said out = {0};
    bool metacarpal = false;
    int count = 0;
    su_name_words_split(name, &split);
    for (int k = 0; k < split.words; k++) {
        word one = {split.letters + split.first[k], split.first[k + 1] - split.first[k]};
        int side = take_side(&one);
        if (side != 0) out.side = (int8_t)side;
        if (one.length > 0) w[count++] = one;
    }
    for (; count > 0 && (is_one_of(&w[count - 1], behind) || is_one_of(&w[count - 1], palm)); count--)
        metacarpal |= is_one_of(&w[count - 1], palm);
    for (int k = count < 2 ? count : 2; k > 0 && out.part == SU_HUMAN_NONE; k--) {
        out.part = (int8_t)part_of(k, w + count - k);
        if (out.part == SU_HUMAN_NONE) continue;
        out.lead = 14695981039346656037u; /* FNV-1a */
        for (int j = 0; j < count - k; j++)
            for (size_t i = 0; i < w[j].length; i++) out.lead = (out.lead ^ (uint8_t)w[j].at[i]) * 1099511628211u;
    }
    /* Only a thumb moves with its metacarpal; a side belongs to limbs and to nothing else. */
    if ((metacarpal && out.part != SU_HUMAN_THUMB) || is_limb(out.part) != (out.side != 0)) out.part = SU_HUMAN_NONE;
    return out;
}

/* The words in front that most names share. */
static uint64_t most_common_lead(int64_t nodes, const said *names)
{
    int64_t most = 0;
    uint64_t lead = 0;
    for (int64_t i = 0; i < nodes; i++) {
        int64_t same = 0;
        for (int64_t j = 0; j < nodes && names[i].part; j++) same += names[j].part && names[j].lead == names[i].lead;
        if (same > most) most = same, lead = names[i].lead;
    }
    return lead;
}

static int32_t first_of(int64_t nodes, const said *names, int part, int side)
{
    for (int64_t i = 0; i < nodes; i++)
        if (names[i].part == part && names[i].side == side) return (int32_t)i;
    return -1;
}

/* What may be two parts becomes the one that is missing, from the body on. */
static void settle(int64_t nodes, said *names, int any, int first, int second, int side)
{
    bool has_first = first_of(nodes, names, first, side) >= 0, has_second = first_of(nodes, names, second, side) >= 0;
    for (int64_t i = 0; i < nodes; i++) {
        if (names[i].part != any || names[i].side != side) continue;
        names[i].part = (int8_t)(!has_first ? first : !has_second ? second : SU_HUMAN_NONE);
        has_second |= has_first, has_first = true;
    }
}

static bool is_below(const int32_t *parent, int32_t node, int32_t above)
{
    while (node >= 0 && node != above) node = parent[node];
    return node >= 0;
}

/* The joint that all of them hang on; -1: none. */
static int32_t common_parent(const int32_t *parent, int count, const int32_t *nodes)
{
    for (int32_t at = parent[nodes[0]]; at >= 0; at = parent[at]) {
        bool all = true;
        for (int k = 1; k < count; k++) all = all && is_below(parent, nodes[k], at);
        if (all) return at;
    }
    return -1;
}

/* Are the limbs of one side there, and does each hang on the one before? */
static bool has_limbs(int64_t nodes, const int32_t *parent, const said *names, int side)
{
    static const int8_t limbs[2][2] = {{SU_HUMAN_UPPER_ARM, SU_HUMAN_LOWER_ARM},
                                       {SU_HUMAN_UPPER_LEG, SU_HUMAN_LOWER_LEG}};
    for (int k = 0; k < 2; k++) {
        int32_t upper = first_of(nodes, names, limbs[k][0], side), lower = first_of(nodes, names, limbs[k][1], side);
        if (upper < 0 || (lower >= 0 && !is_below(parent, lower, upper))) return false;
    }
    return true;
}

/* The joint called so; of a rig without one the end of its spine, past the joint that both arms hang on (Rigify's
 * spine.006); -1: none. */
static int32_t find_head(int64_t nodes, const int32_t *parent, const said *names, int32_t chest)
{
    int32_t end = chest;
    const int32_t head = first_of(nodes, names, SU_HUMAN_HEAD, 0);
    if (head >= 0) return head;
    for (int32_t i = 0; i < nodes; i++)
        if (names[i].part == SU_HUMAN_SPINE && is_below(parent, i, end)) end = i;
    return end == chest ? -1 : end;
}

/* Numbers what is the same part along the tree: nth, and of how many. */
static void number_chains(int64_t nodes, const int32_t *parent, su_human_bone *bone)
{
    for (int64_t i = 0; i < nodes; i++)
        for (int32_t up = parent[i]; up >= 0 && bone[i].part; up = parent[up])
            bone[i].nth += bone[up].part == bone[i].part && bone[up].side == bone[i].side;
    for (int64_t i = 0; i < nodes; i++)
        for (int64_t j = 0; j < nodes && bone[i].part; j++)
            if (bone[j].part == bone[i].part && bone[j].side == bone[i].side && bone[j].nth >= bone[i].of)
                bone[i].of = (int16_t)(bone[j].nth + 1);
}

su_status su_human_bones_find(int64_t nodes, const char *const *names, const int32_t *parent, su_arena *arena,
                              su_human_bone *bone, bool *is_human, su_error *err)
{
    said *all = su_arena_alloc(arena, nodes, sizeof *all);
    if (!all) return su_fail(err, SU_AGAIN, "not enough memory for a skeleton");
    memset(bone, 0, (size_t)nodes * sizeof *bone);
    *is_human = false;
    for (int64_t i = 0; i < nodes; i++) all[i] = read_name(names[i]);
    const uint64_t lead = most_common_lead(nodes, all);
    for (int64_t i = 0; i < nodes; i++)
        if (all[i].lead != lead) all[i].part = SU_HUMAN_NONE;
    for (int side = -1; side <= 1; side += 2) {
        settle(nodes, all, ANY_HIP, SU_HUMAN_UPPER_LEG, SU_HUMAN_NONE, side);
        settle(nodes, all, ANY_LEG, SU_HUMAN_UPPER_LEG, SU_HUMAN_LOWER_LEG, side);
        settle(nodes, all, ANY_ARM, SU_HUMAN_UPPER_ARM, SU_HUMAN_LOWER_ARM, side);
        settle(nodes, all, ANY_SHOULDER, SU_HUMAN_UPPER_ARM, SU_HUMAN_SHOULDER, side);
        if (!has_limbs(nodes, parent, all, side)) return SU_OK;
    }
    const int32_t arms[] = {first_of(nodes, all, SU_HUMAN_UPPER_ARM, 1), first_of(nodes, all, SU_HUMAN_UPPER_ARM, -1)};
    const int32_t chest = common_parent(parent, 2, arms), head = find_head(nodes, parent, all, chest);
    if (chest < 0 || head < 0 || !is_below(parent, head, chest)) return SU_OK;
    const int32_t ends[] = {head, first_of(nodes, all, SU_HUMAN_UPPER_LEG, 1),
                            first_of(nodes, all, SU_HUMAN_UPPER_LEG, -1)};
    const int32_t hips = common_parent(parent, 3, ends);
    if (hips < 0) return SU_OK;
    for (int64_t i = 0; i < nodes; i++) { /* of two with one name the first; all of a finger */
        bool counts = is_finger(all[i].part) || first_of(nodes, all, all[i].part, all[i].side) == i;
        if (is_limb(all[i].part) && counts) bone[i] = (su_human_bone){.part = all[i].part, .side = all[i].side};
    }
    bool neck = true; /* from the head on, until the arms */
    for (int32_t at = parent[head]; at != hips; at = parent[at]) {
        neck = neck && at != chest;
        bone[at] = (su_human_bone){.part = neck ? SU_HUMAN_NECK : SU_HUMAN_SPINE};
    }
    bone[head] = (su_human_bone){.part = SU_HUMAN_HEAD};
    bone[hips] = (su_human_bone){.part = SU_HUMAN_HIPS};
    number_chains(nodes, parent, bone);
    *is_human = true;
    return SU_OK;
}

int32_t su_human_bone_like(const su_human_bone *bone, int64_t nodes, const su_human_bone *bones)
{
    for (int64_t i = 0; i < nodes; i++) {
        const su_human_bone *b = &bones[i];
        if (!bone->part || b->part != bone->part || b->side != bone->side) continue;
        /* A finger bends at its knuckles, one after the other; a spine all along. */
        int nth = is_finger(b->part) || bone->of < 2
                      ? bone->nth
                      : (2 * bone->nth * (b->of - 1) + bone->of - 1) / (2 * (bone->of - 1));
        if (bone->of < 2 && b->part == SU_HUMAN_SPINE) nth = b->of - 1; /* the one that carries the arms */
        if (b->nth == nth) return (int32_t)i;
    }
    return -1;
}
