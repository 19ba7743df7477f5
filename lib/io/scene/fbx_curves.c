#include "io/scene/fbx_curves.h"

#include "io/scene/fbx_keys.h"
#include "io/scene/fbx_records.h"

#include <math.h>
#include <string.h>

/* Of lengths of tangents, in two halves of the third number of KeyAttrDataFloat. */
static const double LENGTH_UNIT = 9999;
static const double USUAL_RATE = 30;         /* frames a second where the file says none */
static const double SPARSE = 1.5;            /* frames: keys farther apart get others in between */
enum { MOST_FRAMES = 100000, DEEPEST = 64 }; /* of a curve, and of nested records; else the file is left as it is */

double su_fbx_rate(double mode, double custom)
{
    enum { OF_FILE = 14 };
    static const double rate[] = {0,
                                  120,
                                  100,
                                  60,
                                  50,
                                  48,
                                  30,
                                  30,
                                  30000 / 1001.0,
                                  30000 / 1001.0,
                                  25,
                                  24,
                                  0 /* milliseconds */,
                                  24000 / 1001.0,
                                  0,
                                  96,
                                  72,
                                  60000 / 1001.0,
                                  120000 / 1001.0};
    if (mode == OF_FILE) return custom;
    return mode >= 0 && mode < (double)(sizeof rate / sizeof *rate) ? rate[(int)mode] : 0;
}

/* A curve with its new keys, and where its arrays stand in the file. */
typedef struct sampled {
    size_t times_at, values_at;
    int64_t count;
    int64_t *time;
    float *value;
} sampled;

typedef struct curves {
    const su_fbx_reader *reader;
    su_arena *arena;
    double step; /* ticks */
    sampled *list;
    int64_t count, room;
    size_t added; /* bytes, at most */
} curves;

/* ---- a curve ---- */

/* Is there anything between two keys that a straight line between frames would miss? */
static bool is_sparse(const curves *c, const su_fbx_curve *of, int64_t k)
{
    const su_fbx_key *from = of->key + k, *to = from + 1;
    if (su_fbx_distance(from->time, to->time) <= SPARSE * c->step) return false;
    for (int i = 1; i < 4; i++)
        if (su_fbx_between(of, k, (double)from->time + 0.25 * i * su_fbx_distance(from->time, to->time)) != from->value)
            return true;
    return to->value != from->value;
}

static float single(const unsigned char *bytes)
{
    return (float)su_fbx_real((su_fbx_property){.type = 'F', .data = bytes});
}

/* The curve's keys; none where they are everywhere near enough or do not belong together. Where its arrays stand goes
 * into `at`. */
static su_fbx_curve read_keys(const curves *c, const su_fbx_record *record, sampled *at)
{
    const su_fbx_curve none = {0};
    su_fbx_record child, value_record = {0}, flag_record = {0}, slope_record = {0}, use_record = {0};
    const unsigned char *time = NULL;
    su_fbx_curve out = {0};
    for (size_t from = record->children; su_fbx_open_record(c->reader, from, record->end, &child); from = child.end) {
        if (su_fbx_is_named(&child, "KeyTime"))
            time = su_fbx_read_array(c->reader, &child, 'l', 8, &out.count), at->times_at = from;
        else if (su_fbx_is_named(&child, "KeyValueFloat"))
            value_record = child, at->values_at = from;
        else if (su_fbx_is_named(&child, "KeyAttrFlags"))
            flag_record = child;
        else if (su_fbx_is_named(&child, "KeyAttrDataFloat"))
            slope_record = child;
        else if (su_fbx_is_named(&child, "KeyAttrRefCount"))
            use_record = child;
    }
    bool sparse = false;
    for (int64_t k = 1; time && k < out.count; k++) {
        int64_t before = (int64_t)su_fbx_little(time + 8 * (k - 1), 8), own = (int64_t)su_fbx_little(time + 8 * k, 8);
        if (own <= before) return none;
        sparse |= su_fbx_distance(before, own) > SPARSE * c->step;
    }
    if (!sparse) return none; /* as in most files: a key a frame, and no other array is read */
    int64_t values = 0, kinds = 0, numbers = 0, counts = 0, kind = 0, used = 0;
    const unsigned char *value = su_fbx_read_array(c->reader, &value_record, 'f', 4, &values),
                        *flags = su_fbx_read_array(c->reader, &flag_record, 'i', 4, &kinds),
                        *slopes = su_fbx_read_array(c->reader, &slope_record, 'f', 4, &numbers),
                        *uses = su_fbx_read_array(c->reader, &use_record, 'i', 4, &counts);
    out.key = value && values == out.count ? su_arena_alloc(c->arena, out.count, sizeof *out.key) : NULL;
    if (!out.key) return none;
    if (!flags || !slopes || !uses || numbers != 4 * kinds || counts != kinds) kinds = 0;
    for (int64_t k = 0; k < out.count; k++) {
        su_fbx_key *own = out.key + k;
        *own = (su_fbx_key){.time = (int64_t)su_fbx_little(time + 8 * k, 8),
                            .value = (double)single(value + 4 * k),
                            .right_length = 1.0 / 3,
                            .left_length = 1.0 / 3};
        if (!isfinite(own->value)) return none;
        while (kind < kinds && used >= (int32_t)su_fbx_little(uses + 4 * kind, 4)) kind++, used = 0;
        used++;
        if (kind >= kinds) continue;
        const unsigned char *tangent = slopes + 16 * kind;
        uint32_t lengths = (uint32_t)su_fbx_little(tangent + 8, 4);
        own->flags = (uint32_t)su_fbx_little(flags + 4 * kind, 4);
        own->right = single(tangent), own->left = single(tangent + 4);
        if (own->flags & SU_FBX_TCB) own->third = single(tangent + 8);
        if (!isfinite(own->right) || !isfinite(own->left) || !isfinite(own->third)) return none;
        if (own->flags & SU_FBX_LENGTH_RIGHT) own->right_length = fmin(1, (lengths & 0xffff) / LENGTH_UNIT);
        if (own->flags & SU_FBX_LENGTH_LEFT) own->left_length = fmin(1, (lengths >> 16) / LENGTH_UNIT);
    }
    return out;
}

/* Adds the curve to the list where its keys are too few. */
static void sample_curve(curves *c, const su_fbx_record *record)
{
    sampled out = {0};
    bool sparse = false;
    const su_fbx_curve of = read_keys(c, record, &out);
    const su_fbx_key *keys = of.key;
    if (!keys) return;
    for (int64_t k = 0; k + 1 < of.count && !sparse; k++) sparse = is_sparse(c, &of, k);
    double frames = su_fbx_distance(keys[0].time, keys[of.count - 1].time) / c->step;
    if (!sparse || frames > MOST_FRAMES) return;
    out.time = su_arena_alloc(c->arena, of.count + (int64_t)frames + 1, sizeof *out.time);
    out.value = su_arena_alloc(c->arena, of.count + (int64_t)frames + 1, sizeof *out.value);
    sampled *more = su_fbx_one_more(c->arena, c->list, c->count, &c->room, sizeof *more);
    if (!out.time || !out.value || !more) return;
    int64_t frame = 1; /* from the curve's first key on */
    for (int64_t k = 0; k < of.count; k++) {
        out.time[out.count] = keys[k].time, out.value[out.count++] = (float)su_fbx_at_key(&of, k);
        if (k + 1 == of.count) break;
        bool fill = is_sparse(c, &of, k);
        for (; frame <= (int64_t)frames; frame++) {
            double time = (double)keys[0].time + (double)frame * c->step;
            if (time > (double)keys[k + 1].time - 0.25 * c->step) break;
            if (!fill || time < (double)keys[k].time + 0.25 * c->step) continue;
            out.time[out.count] = llround(time);
            out.value[out.count++] = (float)su_fbx_between(&of, k, time);
        }
        while ((double)keys[0].time + (double)frame * c->step < (double)keys[k + 1].time + 0.25 * c->step) frame++;
    }
    c->list = more;
    more[c->count++] = out;
    c->added += 12 * (size_t)out.count + 26;
}

/* ---- the file ---- */

/* Ticks between two frames. */
static double frame_step(const su_fbx_reader *r, const su_fbx_record *settings)
{
    su_fbx_record table, row;
    double mode = -1, custom = 0;
    for (size_t at = settings->children; su_fbx_open_record(r, at, settings->end, &table); at = table.end) {
        if (!su_fbx_is_named(&table, "Properties70")) continue;
        for (size_t in = table.children; su_fbx_open_record(r, in, table.end, &row); in = row.end) {
            su_fbx_property name = su_fbx_property_at(r, &row, 0), value = su_fbx_property_at(r, &row, 4);
            if (su_fbx_text_is(name, "TimeMode")) mode = su_fbx_real(value);
            if (su_fbx_text_is(name, "CustomFrameRate")) custom = su_fbx_real(value);
        }
    }
    double rate = su_fbx_rate(mode, custom);
    return SU_FBX_TICKS / (rate >= 1 && rate <= 1000 ? rate : USUAL_RATE);
}

typedef struct copy {
    const su_fbx_reader *reader;
    const curves *curves;
    int64_t next; /* curve whose arrays come */
    unsigned char *data;
    size_t size;
    bool failed;
} copy;

static void put(copy *c, const void *bytes, size_t count)
{
    if (count) memcpy(c->data + c->size, bytes, count);
    c->size += count;
}

/* An array that is not compressed, in place of a record's properties. */
static void put_array(copy *c, char type, int64_t count, const void *values, int bytes)
{
    unsigned char head[13] = {(unsigned char)type};
    su_fbx_put_little(head + 1, (uint64_t)count, 4), su_fbx_put_little(head + 9, (uint64_t)(count * bytes), 4);
    put(c, head, sizeof head);
    for (int64_t k = 0; k < count; k++, c->size += (size_t)bytes) {
        uint64_t bits = 0;
        uint32_t half;
        if (bytes == 4) memcpy(&half, (const float *)values + k, 4), bits = half;
        if (bytes == 8) bits = (uint64_t)((const int64_t *)values)[k];
        su_fbx_put_little(c->data + c->size, bits, bytes);
    }
}

/* Records up to `end` with what they nest; their ends are offsets into the file. */
static void copy_records(copy *c, size_t at, size_t end, int depth)
{
    const su_fbx_reader *r = c->reader;
    int word = r->wide ? 8 : 4;
    su_fbx_record rec;
    if (depth > DEEPEST) c->failed = true;
    for (; !c->failed && su_fbx_open_record(r, at, end, &rec); at = rec.end) {
        size_t start = c->size, properties = start + (rec.properties - at);
        const sampled *anew = c->next < c->curves->count ? c->curves->list + c->next : NULL;
        put(c, r->data + at, rec.properties - at);
        if (anew && at == anew->times_at)
            put_array(c, 'l', anew->count, anew->time, 8);
        else if (anew && at == anew->values_at)
            put_array(c, 'f', anew->count, anew->value, 4);
        else
            put(c, r->data + rec.properties, rec.children - rec.properties);
        su_fbx_put_little(c->data + start + 2 * word, c->size - properties, word);
        copy_records(c, rec.children, rec.end, depth + 1);
        su_fbx_put_little(c->data + start, c->size, word);
        if (anew && at >= anew->times_at && at >= anew->values_at) c->next++;
    }
    put(c, r->data + at, end - at); /* the closing null record; behind the last one the end of the file */
}

char *su_fbx_sample_curves(char *data, size_t *size, su_arena *arena)
{
    su_fbx_reader r = su_fbx_read_binary(data, *size, arena);
    curves c = {.reader = &r, .arena = arena, .step = SU_FBX_TICKS / USUAL_RATE};
    su_fbx_record top, object;
    enum { FIRST = 27 };
    for (size_t at = FIRST; su_fbx_open_record(&r, at, r.size, &top); at = top.end)
        if (su_fbx_is_named(&top, "GlobalSettings")) c.step = frame_step(&r, &top);
    for (size_t at = FIRST; su_fbx_open_record(&r, at, r.size, &top); at = top.end)
        for (size_t in = top.children; su_fbx_is_named(&top, "Objects") && su_fbx_open_record(&r, in, top.end, &object);
             in = object.end)
            if (su_fbx_is_named(&object, "AnimationCurve")) sample_curve(&c, &object);
    if (arena->failed) return NULL;
    if (c.count == 0 || (!r.wide && *size + c.added > UINT32_MAX)) return data;
    copy out = {.reader = &r, .curves = &c, .data = su_arena_alloc(arena, (int64_t)(*size + c.added), 1)};
    if (!out.data) return NULL;
    put(&out, data, FIRST);
    copy_records(&out, FIRST, r.size, 0);
    if (out.failed) return data;
    *size = out.size;
    return (char *)out.data;
}
