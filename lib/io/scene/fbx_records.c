#include "io/scene/fbx_records.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

void *su_fbx_one_more(su_arena *arena, void *items, int64_t count, int64_t *room, size_t size)
{
    if (count < *room) return items;
    int64_t wanted = 2 * *room + 64;
    void *more = su_arena_alloc(arena, wanted, size);
    if (!more) return NULL;
    if (count) memcpy(more, items, (size_t)count * size);
    *room = wanted;
    return more;
}

uint64_t su_fbx_little(const unsigned char *p, int bytes)
{
    uint64_t value = 0;
    for (int i = bytes - 1; i >= 0; i--) value = value << 8 | p[i];
    return value;
}

void su_fbx_put_little(unsigned char *p, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) p[i] = (unsigned char)(value >> 8 * i);
}

bool su_fbx_open_record(const su_fbx_reader *r, size_t at, size_t limit, su_fbx_record *out)
{
    size_t word = r->wide ? 8 : 4, head = 3 * word + 1;
    if (at > limit || limit - at < head) return false;
    uint64_t end = su_fbx_little(r->data + at, (int)word), bytes = su_fbx_little(r->data + at + 2 * word, (int)word);
    out->property_count = (size_t)su_fbx_little(r->data + at + word, (int)word);
    out->name_length = r->data[at + 3 * word];
    out->name = (const char *)r->data + at + head;
    out->properties = at + head + out->name_length;
    if (end <= at || end > limit || out->properties > end || bytes > end - out->properties) return false;
    out->end = (size_t)end;
    out->children = out->properties + (size_t)bytes;
    return true;
}

bool su_fbx_is_binary(const char *data, size_t size)
{
    static const char magic[21] = "Kaydara FBX Binary  ";
    return size >= 27 && memcmp(data, magic, sizeof magic) == 0;
}

su_fbx_reader su_fbx_read_binary(const char *data, size_t size, su_arena *arena)
{
    enum { VERSION = 23, WIDE = 7500 };
    const unsigned char *bytes = (const unsigned char *)data;
    return (su_fbx_reader){bytes, size, su_fbx_little(bytes + VERSION, 4) >= WIDE, arena};
}

bool su_fbx_is_named(const su_fbx_record *rec, const char *name)
{
    return rec->name_length == strlen(name) && memcmp(rec->name, name, rec->name_length) == 0;
}

unsigned char *su_fbx_read_array(const su_fbx_reader *r, const su_fbx_record *rec, char type, size_t bytes,
                                 int64_t *count)
{
    if (rec->property_count < 1 || rec->children - rec->properties < 13 ||
        r->data[rec->properties] != (unsigned char)type)
        return NULL;
    const unsigned char *head = r->data + rec->properties + 1;
    uint64_t elements = su_fbx_little(head, 4), encoding = su_fbx_little(head + 4, 4),
             stored = su_fbx_little(head + 8, 4);
    if (stored > rec->children - rec->properties - 13 || elements > 1u << 28) return NULL;
    /* zlib cannot shrink below about one part in a thousand: do not believe more. */
    if (encoding == 1 ? elements * bytes > (stored + 16) * 1100 : elements * bytes != stored) return NULL;
    unsigned char *out = su_arena_alloc(r->arena, (int64_t)elements, bytes);
    if (!out) return NULL;
    uLongf size = (uLongf)(elements * bytes);
    if (encoding == 1) {
        if (uncompress(out, &size, head + 12, (uLong)stored) != Z_OK || size != elements * bytes) return NULL;
    } else {
        memcpy(out, head + 12, size);
    }
    *count = (int64_t)elements;
    return out;
}

size_t su_fbx_next_property(const su_fbx_reader *r, const su_fbx_record *rec, size_t at, su_fbx_property *out)
{
    *out = (su_fbx_property){0};
    if (at >= rec->children) return at;
    su_fbx_property p = {.type = (char)r->data[at], .data = r->data + at + 1};
    size_t left = rec->children - at - 1, size;
    switch (p.type) {
    case 'C':
        size = 1;
        break;
    case 'Y':
        size = 2;
        break;
    case 'I':
    case 'F':
        size = 4;
        break;
    case 'L':
    case 'D':
        size = 8;
        break;
    case 'S':
    case 'R':
        if (left < 4) return at;
        p.length = (size_t)su_fbx_little(p.data, 4);
        p.data += 4;
        size = 4 + p.length;
        break;
    default:
        return at;
    }
    if (size > left) return at;
    *out = p;
    return at + 1 + size;
}

su_fbx_property su_fbx_property_at(const su_fbx_reader *r, const su_fbx_record *rec, size_t index)
{
    size_t at = rec->properties;
    su_fbx_property p = {0};
    for (size_t i = 0; i <= index && i < rec->property_count; i++) {
        at = su_fbx_next_property(r, rec, at, &p);
        if (i == index || !p.type) return p;
    }
    return (su_fbx_property){0};
}

double su_fbx_real(su_fbx_property p)
{
    uint64_t bits = p.type == 'F' ? su_fbx_little(p.data, 4) : p.type == 'D' ? su_fbx_little(p.data, 8) : 0;
    uint32_t half = (uint32_t)bits;
    float single;
    double full;
    memcpy(&single, &half, sizeof single);
    memcpy(&full, &bits, sizeof full);
    if (p.type == 'C') return p.data[0];
    if (p.type == 'Y') return (int16_t)su_fbx_little(p.data, 2);
    return p.type == 'F' ? (double)single : p.type == 'D' ? full : (double)su_fbx_whole(p);
}

int64_t su_fbx_whole(su_fbx_property p)
{
    if (p.type == 'L') return (int64_t)su_fbx_little(p.data, 8);
    return p.type == 'I' ? (int32_t)su_fbx_little(p.data, 4) : 0;
}

bool su_fbx_text_is(su_fbx_property p, const char *text)
{
    return p.type == 'S' && p.length == strlen(text) && memcmp(p.data, text, p.length) == 0;
}

bool su_fbx_key_is(const char *key, size_t length, const char *name)
{
    return strlen(name) == length && memcmp(key, name, length) == 0;
}
