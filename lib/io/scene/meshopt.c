#include "io/scene/meshopt.h"

#include <math.h>
#include <string.h>

/* ---- attributes (mode 0) ---- */

enum {
    GROUP = 16,         /* elements that share a bit length */
    MOST_BLOCK = 256,   /* elements of a block */
    BLOCK_BYTES = 8192, /* that many at most */
    MOST_STRIDE = 256
};

typedef struct reader {
    const uint8_t *at, *end;
} reader;

static size_t left(const reader *in) { return (size_t)(in->end - in->at); }

/* 16 bytes of which each takes `bits` bits; those that do not fit stand behind, all bits of theirs set. */
static int read_group(reader *in, int bits, uint8_t out[GROUP])
{
    if (bits == 0) {
        memset(out, 0, GROUP);
        return 0;
    }
    size_t packed = (size_t)(GROUP / 8 * bits);
    if (left(in) < packed) return 1;
    const uint8_t *from = in->at;
    in->at += packed;
    if (bits == 8) {
        memcpy(out, from, GROUP);
        return 0;
    }
    unsigned full = (1u << bits) - 1u;
    for (int i = 0; i < GROUP; i++) {
        int bit = i * bits, shift = bits == 1 ? bit % 8 : 8 - bits - bit % 8; /* single bits begin at the low end */
        out[i] = (uint8_t)(from[bit / 8] >> shift & full);
        if (out[i] != full) continue;
        if (left(in) < 1) return 1;
        out[i] = *in->at++;
    }
    return 0;
}

/* One byte of each element of a block, as differences. */
static int read_bytes(reader *in, const int bit_lengths[4], int64_t elements, uint8_t *out)
{
    int64_t groups = (elements + GROUP - 1) / GROUP;
    const uint8_t *header = in->at;
    if (left(in) < (size_t)(groups + 3) / 4) return 1;
    in->at += (groups + 3) / 4;
    for (int64_t g = 0; g < groups; g++)
        if (read_group(in, bit_lengths[header[g / 4] >> 2 * (g % 4) & 3], out + GROUP * g)) return 1;
    return 0;
}

static uint8_t unzigzag8(uint8_t v) { return (uint8_t)((v >> 1) ^ -(v & 1)); }
static uint16_t unzigzag16(uint16_t v) { return (uint16_t)((v >> 1) ^ -(v & 1)); }
static uint32_t unzigzag32(uint32_t v) { return (v >> 1) ^ (0u - (v & 1u)); }

static uint32_t rotate_right(uint32_t v, unsigned r) { return r ? v >> r | v << (32 - r) : v; }

/* Four bytes of an element from their differences `d` to the element before. */
static void add_difference(unsigned channel, const uint8_t d[4], const uint8_t before[4], uint8_t out[4])
{
    switch (channel & 15) {
    case 0:
        for (int k = 0; k < 4; k++) out[k] = (uint8_t)(unzigzag8(d[k]) + before[k]);
        break;
    case 1:
        for (int k = 0; k < 4; k += 2) {
            uint16_t sum = (uint16_t)(unzigzag16((uint16_t)(d[k] | d[k + 1] << 8)) + (before[k] | before[k + 1] << 8));
            out[k] = (uint8_t)sum, out[k + 1] = (uint8_t)(sum >> 8);
        }
        break;
    default: {
        uint32_t turned = (uint32_t)d[0] | (uint32_t)d[1] << 8 | (uint32_t)d[2] << 16 | (uint32_t)d[3] << 24;
        uint32_t bits = rotate_right(turned, channel >> 4);
        for (int k = 0; k < 4; k++) out[k] = (uint8_t)(bits >> 8 * k) ^ before[k];
    }
    }
}

static int read_block(reader *in, int version, const uint8_t *channels, int64_t elements, int64_t stride,
                      const uint8_t *last, uint8_t *out)
{
    static const int lengths[3][4] = {{0, 1, 2, 4}, {1, 2, 4, 8}, {0, 2, 4, 8}}; /* control 0, control 1, version 0 */
    uint8_t planes[4][MOST_BLOCK], d[4];
    const uint8_t *control = in->at;
    if (version == 1 && left(in) < (size_t)(stride / 4)) return 1;
    if (version == 1) in->at += stride / 4;
    for (int64_t c = 0; c < stride / 4; c++) {
        for (int k = 0; k < 4; k++) {
            int kind = version == 1 ? control[c] >> 2 * k & 3 : -1;
            if (kind == 2) {
                memset(planes[k], 0, sizeof planes[k]);
            } else if (kind == 3) {
                if (left(in) < (size_t)elements) return 1;
                memcpy(planes[k], in->at, (size_t)elements);
                in->at += elements;
            } else if (read_bytes(in, lengths[kind < 0 ? 2 : kind], elements, planes[k])) {
                return 1;
            }
        }
        const uint8_t *before = last + 4 * c;
        for (int64_t i = 0; i < elements; i++) {
            uint8_t *to = out + i * stride + 4 * c;
            for (int k = 0; k < 4; k++) d[k] = planes[k][i];
            add_difference(channels[c], d, before, to);
            before = to;
        }
    }
    return 0;
}

static int decode_attributes(const uint8_t *data, size_t size, int64_t count, int64_t stride, uint8_t *out)
{
    static const uint8_t bytes_only[MOST_STRIDE / 4] = {0};
    if (stride < 4 || stride > MOST_STRIDE || stride % 4 || size < 1 || (data[0] != 0xa0 && data[0] != 0xa1)) return 1;
    int version = data[0] & 1;
    size_t tail = (size_t)(version == 1 ? stride + stride / 4 : stride), least = version == 1 ? 24 : 32;
    size_t behind = tail > least ? tail : least;
    if (size < 1 + behind) return 1;
    reader in = {data + 1, data + size - behind};
    const uint8_t *last = data + size - tail, *channels = version == 1 ? last + stride : bytes_only;
    for (int64_t c = 0; c < stride / 4; c++)
        if ((channels[c] & 15) > 2 || ((channels[c] & 15) < 2 && channels[c] >> 4)) return 1;
    int64_t most = BLOCK_BYTES / stride & ~(int64_t)(GROUP - 1);
    if (most > MOST_BLOCK) most = MOST_BLOCK;
    for (int64_t done = 0; done < count;) {
        int64_t elements = count - done < most ? count - done : most;
        if (read_block(&in, version, channels, elements, stride, last, out + done * stride)) return 1;
        done += elements;
        last = out + (done - 1) * stride;
    }
    return in.at != in.end;
}

/* ---- triangles and indices (modes 1 and 2) ---- */

static int read_varint(reader *in, uint32_t *value)
{
    *value = 0;
    for (int k = 0; k < 5; k++) {
        if (left(in) < 1) return 1;
        uint8_t byte = *in->at++;
        *value |= (uint32_t)(byte & 0x7f) << 7 * k;
        if (!(byte & 0x80)) return 0;
    }
    return 1;
}

static void put_index(uint32_t index, int64_t stride, uint8_t *out)
{
    for (int64_t k = 0; k < stride; k++) out[k] = (uint8_t)(index >> 8 * k);
}

enum { RECENT = 16 }; /* edges and vertices that triangle codes can point back to */

typedef struct triangles {
    reader in;
    uint32_t next, last;
    uint32_t edge[RECENT][2], vertex[RECENT];
    uint64_t edges, vertices; /* pushed so far */
    int broken;
} triangles;

static void push_edge(triangles *t, uint32_t a, uint32_t b)
{
    uint32_t *to = t->edge[t->edges++ % RECENT];
    to[0] = a, to[1] = b;
}

static void push_vertex(triangles *t, uint32_t v) { t->vertex[t->vertices++ % RECENT] = v; }

static uint32_t recent_vertex(triangles *t, unsigned back)
{
    if (back < t->vertices && back < RECENT) return t->vertex[(t->vertices - 1 - back) % RECENT];
    t->broken = 1;
    return 0;
}

static uint32_t coded_index(triangles *t)
{
    uint32_t v;
    t->broken |= read_varint(&t->in, &v);
    return t->last += unzigzag32(v);
}

/* A vertex by four bits: the next new one, a recent one, or, where `coded`, one that is written out. */
static uint32_t vertex_by(triangles *t, unsigned bits, int coded)
{
    if (bits == 0) return t->next++;
    return coded && bits == 15 ? coded_index(t) : recent_vertex(t, bits - 1);
}

static void along_an_edge(triangles *t, unsigned code, uint32_t out[3])
{
    unsigned back = code >> 4, third = code & 15;
    if (back >= t->edges) {
        t->broken = 1;
        return;
    }
    const uint32_t *edge = t->edge[(t->edges - 1 - back) % RECENT];
    uint32_t a = edge[0], b = edge[1], c;
    if (third == 0)
        c = t->next++;
    else if (third < 13)
        c = recent_vertex(t, third);
    else if (third < 15)
        c = t->last += third == 13 ? UINT32_MAX : 1u;
    else
        c = coded_index(t);
    push_edge(t, c, b);
    push_edge(t, a, c);
    if (third == 0 || third >= 13) push_vertex(t, c);
    out[0] = a, out[1] = b, out[2] = c;
}

static void free_standing(triangles *t, unsigned code, const uint8_t table[16], uint32_t out[3])
{
    int coded = code >= 0xfe;
    unsigned pair = table[code & 15];
    if (coded) {
        if (left(&t->in) < 1) {
            t->broken = 1;
            return;
        }
        pair = *t->in.at++;
        if (pair == 0) t->next = 0;
    }
    uint32_t a = code == 0xff ? coded_index(t) : t->next++;
    uint32_t b = vertex_by(t, pair >> 4, coded), c = vertex_by(t, pair & 15, coded);
    push_edge(t, b, a);
    push_edge(t, c, b);
    push_edge(t, a, c);
    push_vertex(t, a);
    if (pair >> 4 == 0 || (coded && pair >> 4 == 15)) push_vertex(t, b);
    if ((pair & 15) == 0 || (coded && (pair & 15) == 15)) push_vertex(t, c);
    out[0] = a, out[1] = b, out[2] = c;
}

static int decode_triangles(const uint8_t *data, size_t size, int64_t count, int64_t stride, uint8_t *out)
{
    if (count % 3 || (stride != 2 && stride != 4) || size < 17 || size - 17 < (size_t)(count / 3) || data[0] != 0xe1)
        return 1;
    const uint8_t *code = data + 1, *table = data + size - 16;
    triangles t = {.in = {code + count / 3, table}};
    for (int64_t i = 0; i < count / 3; i++) {
        uint32_t corner[3] = {0, 0, 0};
        if (code[i] < 0xf0)
            along_an_edge(&t, code[i], corner);
        else
            free_standing(&t, code[i], table, corner);
        if (t.broken) return 1;
        for (int k = 0; k < 3; k++) put_index(corner[k], stride, out + (3 * i + k) * stride);
    }
    return t.in.at != t.in.end;
}

static int decode_indices(const uint8_t *data, size_t size, int64_t count, int64_t stride, uint8_t *out)
{
    uint32_t last[2] = {0, 0}, v;
    if ((stride != 2 && stride != 4) || size < 5 || data[0] != 0xd1) return 1;
    reader in = {data + 1, data + size - 4};
    for (int64_t i = 0; i < count; i++) {
        if (read_varint(&in, &v)) return 1;
        last[v & 1] += unzigzag32(v >> 1);
        put_index(last[v & 1], stride, out + i * stride);
    }
    return in.at != in.end;
}

/* ---- filters ---- */

/* Components of 1 or 2 bytes, with a sign. */
static int get_signed(const uint8_t *p, int bytes) { return bytes == 1 ? (int8_t)p[0] : (int16_t)(p[0] | p[1] << 8); }

static int get_unsigned(const uint8_t *p, int bytes) { return bytes == 1 ? p[0] : p[0] | p[1] << 8; }

static void put_component(double value, int bytes, uint8_t *p)
{
    long v = isfinite(value) ? lround(fmin(fmax(value, -65535.0), 65535.0)) : 0;
    p[0] = (uint8_t)v;
    if (bytes == 2) p[1] = (uint8_t)((unsigned long)v >> 8);
}

static void quaternion(uint8_t *p)
{
    int tail = get_signed(p + 6, 2);
    double one = tail | 3, q[3], rest = 1.0;
    for (int k = 0; k < 3; k++) {
        q[k] = get_signed(p + 2 * k, 2) / one * M_SQRT1_2;
        rest -= q[k] * q[k];
    }
    for (int k = 0; k < 3; k++) put_component(q[k] * 32767.0, 2, p + 2 * (((tail & 3) + 1 + k) % 4));
    put_component(sqrt(fmax(0.0, rest)) * 32767.0, 2, p + 2 * (tail & 3));
}

static void exponential(uint8_t *p)
{
    uint32_t bits = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
    int32_t mantissa = (int32_t)(bits & 0x7fffff) - (int32_t)(bits & 0x800000);
    float value = ldexpf((float)mantissa, (int8_t)p[3]);
    memcpy(&bits, &value, sizeof bits);
    put_index(bits, 4, p);
}

static void color(uint8_t *p, int bytes)
{
    int y = get_unsigned(p, bytes), co = get_signed(p + bytes, bytes), cg = get_signed(p + 2 * bytes, bytes);
    int last = get_unsigned(p + 3 * bytes, bytes), scale = 1;
    while (scale <= last) scale *= 2;
    scale -= 1; /* all bits up to the highest of `last` */
    int a = last & scale >> 1;
    double factor = (bytes == 1 ? 255.0 : 65535.0) / (scale > 0 ? scale : 1);
    put_component((y + co - cg) * factor, bytes, p);
    put_component((y + cg) * factor, bytes, p + bytes);
    put_component((y - co - cg) * factor, bytes, p + 2 * bytes);
    put_component((a << 1 | (a & 1)) * factor, bytes, p + 3 * bytes);
}

static int apply_filter(su_meshopt_filter filter, int64_t count, int64_t stride, uint8_t *out)
{
    if (filter == SU_MESHOPT_COLOR && stride != 4 && stride != 8) return 1;
    if (filter == SU_MESHOPT_QUATERNION && stride != 8) return 1;
    for (int64_t i = 0; i < count; i++) {
        uint8_t *p = out + i * stride;
        if (filter == SU_MESHOPT_QUATERNION) quaternion(p);
        if (filter == SU_MESHOPT_COLOR) color(p, (int)stride / 4);
        for (int64_t k = 0; k < stride && filter == SU_MESHOPT_EXPONENTIAL; k += 4) exponential(p + k);
    }
    return 0;
}

int su_meshopt_decode(su_meshopt_mode mode, su_meshopt_filter filter, const uint8_t *data, size_t size, int64_t count,
                      int64_t stride, uint8_t *out)
{
    if (count < 0) return 1;
    if (mode == SU_MESHOPT_ATTRIBUTES)
        return decode_attributes(data, size, count, stride, out) || apply_filter(filter, count, stride, out);
    if (filter != SU_MESHOPT_NONE) return 1;
    return mode == SU_MESHOPT_TRIANGLES ? decode_triangles(data, size, count, stride, out)
                                        : decode_indices(data, size, count, stride, out);
}
