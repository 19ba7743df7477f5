#include "io/scene/fbx_deformers.h"

#include "core/order.h"
#include "geometry/affine.h"
#include "io/scene/fbx_records.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Links say what hangs on what:
 *     model <- geometry <- skin <- cluster <- model of its bone
 *              geometry <- blend shape <- channel <- geometries of its shapes
 * A cluster's Transform takes the mesh's node to its bone as both stood when the mesh was bound, or to the world, which
 * TransformLink takes the bone to: which, is one for a file. What 3ds Max moves a mesh against its node by
 * (GeometricTranslation and so on) comes before it. assimp forgets that, and takes a shape for
 * whole where a channel has no curve. */

typedef enum object_kind { OTHER, MODEL, GEOMETRY, SKIN, CLUSTER, BLEND, CHANNEL } object_kind;

typedef struct object {
    int64_t id;
    object_kind kind;
    const char *name; /* of a model */
    size_t length;
    double percent;
    int32_t skinning; /* of a skin */
    int64_t fulls, numbers, link_numbers, points;
    double *full, *transform, *link;
    int32_t *point; /* of a shape */
} object;

typedef struct link {
    int64_t parent, child, order;
} link;

typedef struct listing {
    su_arena *arena;
    int64_t objects, links, room[2];
    object *object;
    link *link;
    int32_t inherit;
} listing;

static object *add_object(listing *l, int64_t id, object_kind kind)
{
    object *more = su_fbx_one_more(l->arena, l->object, l->objects, &l->room[0], sizeof *more);
    if (!more) return NULL;
    l->object = more;
    more[l->objects] = (object){.id = id, .kind = kind};
    return &more[l->objects++];
}

static void add_link(listing *l, int64_t child, int64_t parent)
{
    link *more = su_fbx_one_more(l->arena, l->link, l->links, &l->room[1], sizeof *more);
    if (!more) return;
    l->link = more;
    more[l->links] = (link){parent, child, l->links};
    l->links++;
}

static object_kind deformer_kind(const char *name, size_t length)
{
    static const struct {
        const char *name;
        object_kind kind;
    } known[] = {{"Skin", SKIN}, {"Cluster", CLUSTER}, {"BlendShape", BLEND}, {"BlendShapeChannel", CHANNEL}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (su_fbx_key_is(name, length, known[i].name)) return known[i].kind;
    return OTHER;
}

/* SkinningType: "Linear", "Rigid", "DualQuaternion" or "Blend" */
static int32_t skinning_named(const char *name, size_t length)
{
    if (su_fbx_key_is(name, length, "DualQuaternion")) return SU_SCENE_DUAL;
    return su_fbx_key_is(name, length, "Blend") ? SU_SCENE_MIXED : SU_SCENE_LINEAR;
}

/* ---- the file ---- */

static double number(su_fbx_property p)
{
    if (p.type == 'D') {
        uint64_t bits = su_fbx_little(p.data, 8);
        double value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    return (double)su_fbx_whole(p);
}

static void read_object(const su_fbx_reader *r, const su_fbx_record *rec, listing *l)
{
    su_fbx_property name = su_fbx_property_at(r, rec, 1), kind = su_fbx_property_at(r, rec, 2);
    int64_t id = su_fbx_whole(su_fbx_property_at(r, rec, 0));
    su_fbx_record child;
    object *made = su_fbx_is_named(rec, "Geometry") ? add_object(l, id, GEOMETRY) : NULL;
    for (size_t at = rec->children;
         made && su_fbx_text_is(kind, "Shape") && su_fbx_open_record(r, at, rec->end, &child); at = child.end)
        if (su_fbx_is_named(&child, "Indexes"))
            made->point = (int32_t *)(void *)su_fbx_read_array(r, &child, 'i', 4, &made->points);
    if (su_fbx_is_named(rec, "Model") && name.type == 'S' && (made = add_object(l, id, MODEL)) != NULL) {
        const char *end = memchr(name.data, 0, name.length); /* "NAME\0\1Model" */
        made->name = (const char *)name.data;
        made->length = end ? (size_t)(end - made->name) : name.length;
    }
    if (!su_fbx_is_named(rec, "Deformer") || kind.type != 'S') return;
    made = add_object(l, id, deformer_kind((const char *)kind.data, kind.length));
    for (size_t at = rec->children; made && su_fbx_open_record(r, at, rec->end, &child); at = child.end) {
        su_fbx_property said = su_fbx_property_at(r, &child, 0);
        if (su_fbx_is_named(&child, "SkinningType") && said.type == 'S')
            made->skinning = skinning_named((const char *)said.data, said.length);
        if (su_fbx_is_named(&child, "DeformPercent")) made->percent = number(said);
        if (su_fbx_is_named(&child, "FullWeights"))
            made->full = (double *)(void *)su_fbx_read_array(r, &child, 'd', 8, &made->fulls);
        if (su_fbx_is_named(&child, "Transform"))
            made->transform = (double *)(void *)su_fbx_read_array(r, &child, 'd', 8, &made->numbers);
        if (su_fbx_is_named(&child, "TransformLink"))
            made->link = (double *)(void *)su_fbx_read_array(r, &child, 'd', 8, &made->link_numbers);
    }
}

/* Definitions: the type ObjectType "Model" has a PropertyTemplate with Properties70. */
static void read_template(const su_fbx_reader *r, const su_fbx_record *type, listing *l)
{
    su_fbx_record form, table, row;
    if (!su_fbx_is_named(type, "ObjectType") || !su_fbx_text_is(su_fbx_property_at(r, type, 0), "Model")) return;
    for (size_t at = type->children; su_fbx_open_record(r, at, type->end, &form); at = form.end)
        for (size_t in = form.children; su_fbx_open_record(r, in, form.end, &table); in = table.end) {
            if (!su_fbx_is_named(&table, "Properties70")) continue;
            for (size_t p = table.children; su_fbx_open_record(r, p, table.end, &row); p = row.end)
                if (su_fbx_text_is(su_fbx_property_at(r, &row, 0), "InheritType"))
                    l->inherit = (int32_t)su_fbx_whole(su_fbx_property_at(r, &row, 4));
        }
}

static void read_file(const char *data, size_t size, listing *l)
{
    su_fbx_reader r = su_fbx_read_binary(data, size, l->arena);
    su_fbx_record top, inner;
    for (size_t at = 27; su_fbx_open_record(&r, at, r.size, &top); at = top.end)
        for (size_t in = top.children; su_fbx_open_record(&r, in, top.end, &inner); in = inner.end) {
            if (su_fbx_is_named(&top, "Definitions")) read_template(&r, &inner, l);
            if (su_fbx_is_named(&top, "Objects")) read_object(&r, &inner, l);
            if (su_fbx_is_named(&top, "Connections") && su_fbx_text_is(su_fbx_property_at(&r, &inner, 0), "OO"))
                add_link(l, su_fbx_whole(su_fbx_property_at(&r, &inner, 1)),
                         su_fbx_whole(su_fbx_property_at(&r, &inner, 2)));
        }
}

/* ---- what hangs on what ---- */

static int compare_links(const void *a, const void *b)
{
    const link *x = a, *y = b;
    if (x->parent != y->parent) return x->parent < y->parent ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static int compare_objects(const void *a, const void *b)
{
    const object *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

/* The next of what hangs on a parent and is of a kind, from link *at on (-1: the first); NULL: no more. */
static object *next_child(const listing *l, int64_t parent, object_kind kind, int64_t *at)
{
    if (*at < 0) {
        int64_t low = 0, high = l->links;
        while (low < high) {
            int64_t middle = low + (high - low) / 2;
            if (l->link[middle].parent < parent)
                low = middle + 1;
            else
                high = middle;
        }
        *at = low;
    }
    for (; *at < l->links && l->link[*at].parent == parent; ++*at) {
        object wanted = {.id = l->link[*at].child};
        object *found = bsearch(&wanted, l->object, (size_t)l->objects, sizeof wanted, compare_objects);
        if (!found || found->kind != kind) continue;
        ++*at;
        return found;
    }
    return NULL;
}

/* 16 numbers of a file, which has columns first. */
static bool read_matrix(const double *v, int64_t numbers, double out[16])
{
    bool nothing = true;
    if (!v || numbers != 16) return false;
    for (int i = 0; i < 16; i++) {
        if (!isfinite(v[i])) return false;
        out[4 * (i % 4) + i / 4] = v[i];
        nothing = nothing && v[i] == 0.0;
    }
    return !nothing;
}

static double largest_difference(const double a[16], const double b[16])
{
    double most = 0.0;
    for (int i = 0; i < 16; i++) most = fmax(most, fabs(a[i] - b[i]));
    return most;
}

/* A mesh stood in one place when it was bound. Where that is what the Transforms of its clusters say themselves, and
 * not what their bones' places make of them, they take it to the world. */
static bool binds_in_the_world(const listing *l)
{
    const double same = 1e-3; /* of how far places differ that should be one; files have six digits at least */
    double by_bones = 0.0, by_themselves = 0.0;
    for (int64_t i = 0; i < l->objects; i++) {
        double first[16], first_place[16], transform[16], place[16];
        int64_t at = -1, known = 0;
        if (l->object[i].kind != SKIN) continue;
        for (object *cluster; (cluster = next_child(l, l->object[i].id, CLUSTER, &at));) {
            if (!read_matrix(cluster->transform, cluster->numbers, transform) ||
                !read_matrix(cluster->link, cluster->link_numbers, place))
                continue;
            su_affine_multiply(place, transform, place);
            if (known++ == 0) memcpy(first, transform, sizeof first), memcpy(first_place, place, sizeof place);
            by_bones = fmax(by_bones, largest_difference(place, first_place));
            by_themselves = fmax(by_themselves, largest_difference(transform, first));
        }
    }
    return by_themselves < same * by_bones;
}

static void read_binds(const listing *l, int64_t skin, bool in_the_world, su_fbx_mesh *out)
{
    int64_t at = -1, room = out->bones;
    for (object *cluster; (cluster = next_child(l, skin, CLUSTER, &at));) {
        int64_t in = -1;
        double place[16];
        su_fbx_bind made;
        object *bone = next_child(l, cluster->id, MODEL, &in);
        if (!bone || !read_matrix(cluster->transform, cluster->numbers, made.bind)) continue;
        if (in_the_world) {
            if (!read_matrix(cluster->link, cluster->link_numbers, place) || su_affine_inverse(place, place) == 0.0)
                continue;
            su_affine_multiply(place, made.bind, made.bind);
        }
        made.name = bone->name, made.length = bone->length;
        su_fbx_bind *more = su_fbx_one_more(l->arena, out->bone, out->bones, &room, sizeof *more);
        if (!more) return;
        out->bone = more;
        more[out->bones++] = made;
    }
}

static void read_channels(const listing *l, int64_t blend, su_fbx_mesh *out)
{
    int64_t at = -1, room = out->channels;
    for (object *c; (c = next_child(l, blend, CHANNEL, &at));) {
        su_fbx_channel *more = su_fbx_one_more(l->arena, out->channel, out->channels, &room, sizeof *more);
        if (!more) return;
        out->channel = more;
        su_fbx_channel *made = &more[out->channels++];
        *made = (su_fbx_channel){.mix.weight = isfinite(c->percent) ? 0.01 * c->percent : 0.0};
        su_shape_channel *mix = &made->mix;
        int64_t shape = -1;
        const object *only = NULL;
        for (object *next; (next = next_child(l, c->id, GEOMETRY, &shape)); mix->shapes++) only = next;
        mix->full = su_arena_alloc(l->arena, mix->shapes, sizeof *mix->full);
        for (int64_t k = 0; mix->full && k < mix->shapes; k++) {
            /* without numbers that rise, shapes lie at equal distances */
            mix->full[k] = (double)(k + 1) / (double)mix->shapes;
            if (c->full && c->fulls == mix->shapes && isfinite(c->full[k])) mix->full[k] = 0.01 * c->full[k];
        }
        if (mix->shapes == 1 && c->full && only->point && c->fulls == only->points && c->fulls > 1) {
            made->points = c->fulls, made->point = only->point, made->part = c->full;
            for (int64_t k = 0; k < made->points; k++) made->part[k] = isfinite(c->full[k]) ? 0.01 * c->full[k] : 1.0;
        }
    }
}

int64_t su_fbx_read_meshes(const char *data, size_t size, su_arena *arena, su_fbx_mesh **meshes, int32_t *inherit)
{
    listing l = {.arena = arena, .inherit = -1};
    int64_t count = 0, room = 0;
    *meshes = NULL;
    if (data) read_file(data, size, &l);
    *inherit = l.inherit;
    if (l.links > 1) su_sort(l.link, (size_t)l.links, sizeof *l.link, compare_links);
    if (l.objects > 1) su_sort(l.object, (size_t)l.objects, sizeof *l.object, compare_objects);
    const bool in_the_world = binds_in_the_world(&l);
    for (int64_t i = 0; i < l.objects && !arena->failed; i++) {
        if (l.object[i].kind != MODEL) continue;
        su_fbx_mesh made = {.name = l.object[i].name, .length = l.object[i].length};
        int64_t at = -1;
        object *geometry = next_child(&l, l.object[i].id, GEOMETRY, &at), *skin, *blend;
        if (!geometry) continue;
        at = -1;
        while ((skin = next_child(&l, geometry->id, SKIN, &at))) {
            read_binds(&l, skin->id, in_the_world, &made);
            made.skinning = skin->skinning;
        }
        at = -1;
        while ((blend = next_child(&l, geometry->id, BLEND, &at))) read_channels(&l, blend->id, &made);
        if (made.bones == 0 && made.channels == 0) continue;
        su_fbx_mesh *more = su_fbx_one_more(arena, *meshes, count, &room, sizeof *more);
        if (!more) return 0;
        *meshes = more;
        more[count++] = made;
    }
    return arena->failed ? 0 : count;
}
