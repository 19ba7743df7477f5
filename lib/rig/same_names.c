#include "rig/same_names.h"

#include "core/memory.h"
#include "core/order.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { LETTERS = 3, JOINTS = 2 }; /* fewer letters at the end, fewer joints may agree by chance */

/* A name as a rule sees it before its head is taken off. */
typedef struct stem {
    const char *text;
    size_t length;
    int64_t node;
} stem;

const char *su_plain_name(const char *name)
{
    const char *colon = strrchr(name, ':');
    return colon && colon[1] ? colon + 1 : name;
}

static stem stem_of(const char *name, bool numbered, int64_t node)
{
    stem s = {.text = su_plain_name(name), .node = node};
    size_t end = s.length = strlen(s.text);
    while (end > 0 && isdigit((unsigned char)s.text[end - 1])) end--;
    if (numbered && end < s.length && end > 1 && s.text[end - 1] == '_') s.length = end - 1;
    return s;
}

bool su_names_are_same(const su_same_names *rule, const char *there, const char *here)
{
    stem s[2] = {stem_of(there, rule && rule->numbered[0], 0), stem_of(here, rule && rule->numbered[1], 0)};
    for (int k = 0; rule && k < 2; k++) {
        if (s[k].length < rule->length[k] || memcmp(s[k].text, rule->head[k], rule->length[k]) != 0) return false;
        s[k].text += rule->length[k], s[k].length -= rule->length[k];
    }
    return s[0].length > 0 && s[0].length == s[1].length && memcmp(s[0].text, s[1].text, s[0].length) == 0;
}

static int by_text(const void *a, const void *b)
{
    const stem *p = a, *q = b;
    size_t common = p->length < q->length ? p->length : q->length;
    int order = memcmp(p->text, q->text, common);
    return order ? order : (p->length > q->length) - (p->length < q->length);
}

static size_t common_end(const stem *a, const stem *b)
{
    size_t common = 0;
    while (common < a->length && common < b->length &&
           a->text[a->length - 1 - common] == b->text[b->length - 1 - common])
        common++;
    return common;
}

/* From their last letters on. */
static int by_end(const void *a, const void *b)
{
    const stem *p = a, *q = b;
    size_t common = common_end(p, q);
    if (common == p->length || common == q->length) return (p->length > q->length) - (p->length < q->length);
    unsigned char c = (unsigned char)p->text[p->length - 1 - common],
                  d = (unsigned char)q->text[q->length - 1 - common];
    return (c > d) - (c < d);
}

/* First of the sorted stems that does not come before s. */
static int64_t lower_bound(int64_t count, const stem *sorted, const stem *s, int (*order)(const void *, const void *))
{
    int64_t low = 0, high = count;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (order(&sorted[middle], s) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The stem with the longest end in common with s, the first node of several; NULL: none, or too few letters. */
static const stem *nearest_end(int64_t count, const stem *ends, const stem *s)
{
    int64_t at = lower_bound(count, ends, s, by_end);
    size_t longest = 0;
    const stem *best = NULL;
    if (at > 0) longest = common_end(&ends[at - 1], s);
    if (at < count && common_end(&ends[at], s) > longest) longest = common_end(&ends[at], s);
    if (longest < LETTERS) return NULL;
    for (int64_t k = at; k < count && common_end(&ends[k], s) >= longest; k++)
        if (!best || ends[k].node < best->node) best = &ends[k];
    for (int64_t k = at - 1; k >= 0 && common_end(&ends[k], s) >= longest; k--)
        if (!best || ends[k].node < best->node) best = &ends[k];
    return best;
}

/* A rule that names propose, and the first that did. */
typedef struct proposal {
    stem head[2];
    int64_t first;
} proposal;

static int by_heads(const void *a, const void *b)
{
    const proposal *p = a, *q = b;
    int order = by_text(&p->head[0], &q->head[0]);
    return order ? order : by_text(&p->head[1], &q->head[1]);
}

static int by_first(const void *a, const void *b)
{
    const proposal *p = a, *q = b;
    return (p->first > q->first) - (p->first < q->first);
}

/* Proposals that differ, by the first name of each. */
static int64_t propose(int64_t count, const stem *there, int64_t nodes, const stem *ends, proposal *out)
{
    int64_t made = 0, kept = 0;
    for (int64_t i = 0; i < count; i++) {
        const stem *here = nearest_end(nodes, ends, &there[i]);
        if (!here) continue;
        size_t common = common_end(here, &there[i]);
        out[made++] =
            (proposal){{{there[i].text, there[i].length - common, 0}, {here->text, here->length - common, 0}}, i};
    }
    su_sort(out, (size_t)made, sizeof *out, by_heads);
    for (int64_t k = 0; k < made; k++)
        if (!k || by_heads(&out[kept - 1], &out[k])) out[kept++] = out[k];
    su_sort(out, (size_t)kept, sizeof *out, by_first);
    return kept;
}

/* How many names there the rule finds, each as one alone. wanted: room for the longest name. */
static int64_t count_found(int64_t count, const stem *there, int64_t nodes, const stem *texts, const proposal *rule,
                           char *wanted)
{
    const stem *head = rule->head;
    int64_t found = 0;
    memcpy(wanted, head[1].text, head[1].length);
    for (int64_t i = 0; i < count; i++) {
        size_t rest = there[i].length - head[0].length;
        if (there[i].length <= head[0].length || memcmp(there[i].text, head[0].text, head[0].length) != 0) continue;
        memcpy(wanted + head[1].length, there[i].text + head[0].length, rest);
        stem s = {wanted, head[1].length + rest, 0};
        int64_t at = lower_bound(nodes, texts, &s, by_text);
        found += at < nodes && !by_text(&texts[at], &s) && (at + 1 == nodes || by_text(&texts[at + 1], &s));
    }
    return found;
}

/* The best rule that leaves these numbers out, if it is better than *found. */
static su_status try_numbers(int64_t count, const char *const *there, int64_t nodes, const char *const *here,
                             const bool numbered[2], su_same_names *out, int64_t *found, su_error *err)
{
    stem *names = NULL, *texts = NULL, *ends = NULL;
    proposal *rules = NULL;
    char *wanted = NULL;
    size_t longest = 0, longest_here = 0;
    int64_t joints = 0;
    su_status status = SU_OK;
    SU_GO(SU_ALLOC(&names, count, "names of joints", err));
    SU_GO(SU_ALLOC(&texts, nodes, "names of joints", err));
    SU_GO(SU_ALLOC(&ends, nodes, "names of joints", err));
    SU_GO(SU_ALLOC(&rules, count, "names of joints", err));
    for (int64_t i = 0; i < count; i++) {
        names[i] = stem_of(there[i], numbered[0], i);
        longest = names[i].length > longest ? names[i].length : longest;
    }
    for (int64_t j = 0; j < nodes; j++) {
        if (!here[j]) continue;
        texts[joints] = ends[joints] = stem_of(here[j], numbered[1], j);
        longest_here = texts[joints].length > longest_here ? texts[joints].length : longest_here;
        joints++;
    }
    SU_GO(SU_ALLOC(&wanted, longest + longest_here + 1, "names of joints", err));
    su_sort(texts, (size_t)joints, sizeof *texts, by_text);
    su_sort(ends, (size_t)joints, sizeof *ends, by_end);
    int64_t proposals = propose(count, names, joints, ends, rules);
    for (int64_t k = 0; k < proposals; k++) {
        int64_t these = count_found(count, names, joints, texts, &rules[k], wanted);
        if (these <= *found || these < JOINTS || 2 * these < count) continue;
        *found = these;
        for (int side = 0; side < 2; side++) {
            out->head[side] = rules[k].head[side].text, out->length[side] = rules[k].head[side].length;
            out->numbered[side] = numbered[side];
        }
    }
done:
    free(names), free(texts), free(ends), free(rules), free(wanted);
    return status;
}

su_status su_same_names_find(int64_t count, const char *const *there, int64_t nodes, const char *const *here,
                             bool numbers, su_same_names *out, int64_t *found, su_error *err)
{
    static const bool tried[4][2] = {{false, false}, {true, false}, {false, true}, {true, true}};
    *found = 0;
    for (int k = numbers ? 1 : 0; k < (numbers ? 4 : 1); k++)
        SU_TRY(try_numbers(count, there, nodes, here, tried[k], out, found, err));
    return SU_OK;
}
