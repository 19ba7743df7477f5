#include "core/order.h"
#include "io/scene/control_points.h"
#include "io/scene/fbx_records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A clip is an AnimationStack; its curves hang on it through layers and nodes:
 *     curve -> node -> layer -> stack,  node -> "Lcl Rotation" of a model or "DeformPercent" of a blend shape.
 * assimp takes LocalStart off all keys where a stack has LocalStart or LocalStop, and drops those that lie outside of
 * them, else it takes off the first key of its models' curves. Exporters that cut one long recording into clips
 * elsewhere (in their engine) leave a range there that has nothing to do with the keys: where none lies in it the
 * range counts as unsaid, and its two numbers are made 0 before assimp sees them. */

typedef struct stack {
    const char *name;
    size_t length;
    int64_t id, start, stop;  /* ticks */
    size_t start_at, stop_at; /* of these numbers in the file; 0: it has none */
    bool taken, layered;      /* found; with curves of one property on several layers */
} stack;

typedef struct curve {
    int64_t id, first, last; /* keys, ticks */
} curve;

typedef struct link {
    int64_t child, parent;
    int moves; /* the property, of those that are read; 0: none of them */
} link;

typedef struct listing {
    su_arena *arena;
    int64_t stacks, curves, links, room[3];
    stack *stack;
    curve *curve;
    link *link;
} listing;

static stack *add_stack(listing *l, int64_t id, const char *name, size_t length)
{
    stack *more = su_fbx_one_more(l->arena, l->stack, l->stacks, &l->room[0], sizeof *more);
    if (!more) return NULL;
    l->stack = more;
    more[l->stacks] = (stack){.name = name, .length = length, .id = id};
    return &more[l->stacks++];
}

static void add_curve(listing *l, int64_t id, int64_t first, int64_t last)
{
    curve *more = su_fbx_one_more(l->arena, l->curve, l->curves, &l->room[1], sizeof *more);
    if (!more) return;
    l->curve = more;
    more[l->curves++] = (curve){id, first, last};
}

/* property: as it stands in the file; NULL: the link has none. */
static void add_link(listing *l, int64_t child, int64_t parent, const char *property, size_t length)
{
    static const char *const moving[] = {"Lcl Translation", "Lcl Rotation", "Lcl Scaling", "DeformPercent"};
    link *more = su_fbx_one_more(l->arena, l->link, l->links, &l->room[2], sizeof *more);
    if (!more) return;
    int moves = 0;
    for (size_t i = 0; property && i < sizeof moving / sizeof *moving; i++)
        if (su_fbx_key_is(property, length, moving[i])) moves = (int)i + 1;
    l->link = more;
    more[l->links++] = (link){child, parent, moves};
}

/* ---- the file ---- */

/* Properties70: P "LocalStart", "KTime", "Time", "", ticks */
static void read_range(const su_fbx_reader *r, const su_fbx_record *object, stack *out)
{
    su_fbx_record table, row;
    for (size_t at = object->children; su_fbx_open_record(r, at, object->end, &table); at = table.end) {
        if (!su_fbx_is_named(&table, "Properties70")) continue;
        for (size_t inner = table.children; su_fbx_open_record(r, inner, table.end, &row); inner = row.end) {
            bool start = su_fbx_text_is(su_fbx_property_at(r, &row, 0), "LocalStart");
            if (!start && !su_fbx_text_is(su_fbx_property_at(r, &row, 0), "LocalStop")) continue;
            su_fbx_property ticks = su_fbx_property_at(r, &row, 4);
            *(start ? &out->start : &out->stop) = su_fbx_whole(ticks);
            if (ticks.type == 'L') *(start ? &out->start_at : &out->stop_at) = (size_t)(ticks.data - r->data);
        }
    }
}

static void read_object(const su_fbx_reader *r, const su_fbx_record *object, listing *l)
{
    su_fbx_record child;
    int64_t id = su_fbx_whole(su_fbx_property_at(r, object, 0));
    if (su_fbx_is_named(object, "AnimationStack")) { /* its name is "NAME\0\1AnimStack" */
        su_fbx_property name = su_fbx_property_at(r, object, 1);
        const char *end = name.type == 'S' ? memchr(name.data, 0, name.length) : NULL;
        if (name.type != 'S') return;
        stack *made =
            add_stack(l, id, (const char *)name.data, end ? (size_t)(end - (const char *)name.data) : name.length);
        if (made) read_range(r, object, made);
    }
    if (!su_fbx_is_named(object, "AnimationCurve")) return;
    for (size_t at = object->children; su_fbx_open_record(r, at, object->end, &child); at = child.end) {
        int64_t count = 0;
        if (!su_fbx_is_named(&child, "KeyTime")) continue;
        unsigned char *ticks = su_fbx_read_array(r, &child, 'l', 8, &count);
        if (!ticks || count <= 0) continue;
        add_curve(l, id, (int64_t)su_fbx_little(ticks, 8), (int64_t)su_fbx_little(ticks + 8 * (count - 1), 8));
    }
}

static void read_file(const char *data, size_t size, listing *l)
{
    su_fbx_reader r = su_fbx_read_binary(data, size, l->arena);
    su_fbx_record top, inner;
    for (size_t at = 27; su_fbx_open_record(&r, at, r.size, &top); at = top.end)
        for (size_t in = top.children; su_fbx_open_record(&r, in, top.end, &inner); in = inner.end) {
            if (su_fbx_is_named(&top, "Objects")) read_object(&r, &inner, l);
            if (!su_fbx_is_named(&top, "Connections") || !su_fbx_is_named(&inner, "C")) continue;
            su_fbx_property name = su_fbx_property_at(&r, &inner, 3);
            add_link(l, su_fbx_whole(su_fbx_property_at(&r, &inner, 1)),
                     su_fbx_whole(su_fbx_property_at(&r, &inner, 2)), name.type == 'S' ? (const char *)name.data : NULL,
                     name.length);
        }
}

/* ---- ranges ---- */

static int compare_links(const void *a, const void *b)
{
    const link *x = a, *y = b;
    if (x->child != y->child) return x->child < y->child ? -1 : 1;
    return (x->parent > y->parent) - (x->parent < y->parent);
}

/* The first link of a child, and behind *end its last. */
static int64_t links_of(const listing *l, int64_t child, int64_t *end)
{
    int64_t low = 0, high = l->links;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (l->link[middle].child < child)
            low = middle + 1;
        else
            high = middle;
    }
    *end = low;
    while (*end < l->links && l->link[*end].child == child) (*end)++;
    return low;
}

/* Does the object hang on the stack, `steps` links below it? */
static bool hangs_on(const listing *l, int64_t object, int64_t on, int steps)
{
    int64_t end;
    for (int64_t i = links_of(l, object, &end); i < end; i++)
        if (steps == 1 ? l->link[i].parent == on : hangs_on(l, l->link[i].parent, on, steps - 1)) return true;
    return false;
}

/* The first and the last key of what moves in a stack; false: nothing does. */
static bool key_range(const listing *l, const stack *s, int64_t *first, int64_t *last)
{
    *first = INT64_MAX, *last = INT64_MIN;
    for (int64_t c = 0; c < l->curves; c++) {
        int64_t end, node_end;
        if (l->curve[c].first >= *first && l->curve[c].last <= *last) continue;
        for (int64_t i = links_of(l, l->curve[c].id, &end); i < end; i++) {
            int64_t node = l->link[i].parent;
            bool moves = false;
            for (int64_t k = links_of(l, node, &node_end); k < node_end; k++) moves |= l->link[k].moves > 0;
            if (!moves || !hangs_on(l, node, s->id, 2)) continue;
            if (l->curve[c].first < *first) *first = l->curve[c].first;
            if (l->curve[c].last > *last) *last = l->curve[c].last;
        }
    }
    return *first <= *last;
}

/* Does a stack say a range that holds a part of its keys? */
static bool has_range(const listing *l, const stack *s)
{
    int64_t first, last;
    if (s->start == 0 && s->stop == 0) return false;
    return !key_range(l, s, &first, &last) || (first <= s->stop && last >= s->start);
}

static void list_clips(const char *data, size_t size, listing *l)
{
    read_file(data, size, l);
    if (l->links > 1) su_sort(l->link, (size_t)l->links, sizeof *l->link, compare_links);
}

void su_fbx_unsay_ranges(char *data, size_t size, su_arena *arena)
{
    listing l = {.arena = arena};
    list_clips(data, size, &l);
    for (int64_t i = 0; i < l.stacks; i++) {
        const stack *s = &l.stack[i];
        if ((s->start == 0 && s->stop == 0) || has_range(&l, s)) continue;
        const size_t place[2] = {s->start_at, s->stop_at};
        for (int k = 0; k < 2; k++)
            if (place[k]) memset(data + place[k], 0, 8);
    }
}

/* ---- layers ---- */

/* A curve, by what it moves. */
typedef struct moved {
    int64_t model, stack, node;
    int property;
} moved;

static int compare_moved(const void *a, const void *b)
{
    const moved *x = a, *y = b;
    if (x->model != y->model) return x->model < y->model ? -1 : 1;
    if (x->property != y->property) return x->property < y->property ? -1 : 1;
    if (x->stack != y->stack) return x->stack < y->stack ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

/* Adds a curve for each stack that its node hangs on, and for each property that the node moves. */
static void list_moved(const listing *l, int64_t node, moved **list, int64_t *count, int64_t *room)
{
    int64_t end, layer_end;
    const int64_t first = links_of(l, node, &end);
    for (int64_t i = first; i < end; i++) /* up to a layer, and from that to a stack */
        for (int64_t k = links_of(l, l->link[i].parent, &layer_end); k < layer_end && l->link[i].moves == 0; k++)
            for (int64_t m = first; m < end; m++) {
                if (l->link[m].moves == 0) continue;
                moved *more = su_fbx_one_more(l->arena, *list, *count, room, sizeof *more);
                if (!more) return;
                *list = more;
                more[(*count)++] = (moved){l->link[m].parent, l->link[k].parent, node, l->link[m].moves};
            }
}

/* Marks stacks in which several nodes have curves of one property: one of each layer. */
static void find_layers(listing *l)
{
    moved *list = NULL;
    int64_t count = 0, room = 0, end;
    for (int64_t c = 0; c < l->curves; c++)
        for (int64_t i = links_of(l, l->curve[c].id, &end); i < end; i++)
            list_moved(l, l->link[i].parent, &list, &count, &room);
    if (count > 1) su_sort(list, (size_t)count, sizeof *list, compare_moved);
    for (int64_t k = 1; k < count; k++) {
        const moved *a = list + k - 1, *b = list + k;
        if (a->model != b->model || a->property != b->property || a->stack != b->stack || a->node == b->node) continue;
        for (int64_t i = 0; i < l->stacks; i++)
            if (l->stack[i].id == a->stack) l->stack[i].layered = true;
    }
}

/* ---- clips ---- */

static void shift(int64_t count, double *times, double by)
{
    for (int64_t i = 0; i < count; i++) times[i] += by;
}

static void shift_clip(su_scene_clip *clip, double by)
{
    for (int64_t i = 0; i < clip->channels; i++) {
        su_scene_channel *c = &clip->channel[i];
        shift(c->translations, c->translation_times, by);
        shift(c->rotations, c->rotation_times, by);
        shift(c->scales, c->scale_times, by);
    }
    for (int64_t i = 0; i < clip->morph_channels; i++)
        shift(clip->morph_channel[i].keys, clip->morph_channel[i].times, by);
    clip->start += by, clip->end += by;
}

void su_fbx_clip_times(const char *data, size_t size, su_scene *scene)
{
    listing l = {.arena = &scene->arena};
    if (scene->clips == 0) return;
    list_clips(data, size, &l);
    find_layers(&l);
    for (int64_t c = 0; c < scene->clips; c++) {
        su_scene_clip *clip = &scene->clip[c];
        char number[32]; /* of a clip whose stack has no name */
        snprintf(number, sizeof number, "clip%lld", (long long)c + 1);
        stack *found = NULL;
        for (int64_t i = 0; i < l.stacks && !found; i++)
            if (!l.stack[i].taken && (l.stack[i].length ? su_fbx_key_is(l.stack[i].name, l.stack[i].length, clip->name)
                                                        : strcmp(clip->name, number) == 0))
                found = &l.stack[i];
        if (!found) continue;
        found->taken = true;
        clip->layered = found->layered;
        int64_t first, last;
        double by = 0; /* s */
        if (has_range(&l, found))
            by = (double)found->start / SU_FBX_TICKS;
        else if (key_range(&l, found, &first, &last))
            by = (double)first / SU_FBX_TICKS - clip->start;
        if (by != 0.0) shift_clip(clip, by);
    }
}
