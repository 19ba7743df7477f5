#include "io/alembic/abc_hash.h"

#include <string.h>

#define SPOOKY_CONST 0xdeadbeefdeadbeefULL

static inline uint64_t rol(uint64_t x, int r) { return (x << r) | (x >> (64 - r)); }

static inline uint64_t word(const uint8_t *p)
{
    uint64_t w;
    memcpy(&w, p, sizeof w);
    return w;
}

/* ---- MurmurHash3 x64 128 ---- */

static const uint64_t C1 = 0x87c37b91114253d5ULL, C2 = 0x4cf5ad432745937fULL;

static uint64_t murmur_finish(uint64_t x)
{
    x ^= x >> 33, x *= 0xff51afd7ed558ccdULL;
    x ^= x >> 33, x *= 0xc4ceb9fe1a85ec53ULL;
    return x ^ x >> 33;
}

void su_murmur3(const void *bytes, size_t count, uint64_t digest[2])
{
    const uint8_t *p = bytes;
    uint64_t h1 = 0, h2 = 0;
    for (size_t i = 0; i < count / 16; i++, p += 16) {
        h1 ^= rol(word(p) * C1, 31) * C2;
        h1 = (rol(h1, 27) + h2) * 5 + 0x52dce729;
        h2 ^= rol(word(p + 8) * C2, 33) * C1;
        h2 = (rol(h2, 31) + h1) * 5 + 0x38495ab5;
    }
    uint8_t tail[16] = {0};
    if (count % 16) memcpy(tail, p, count % 16);
    h2 ^= rol(word(tail + 8) * C2, 33) * C1;
    h1 ^= rol(word(tail) * C1, 31) * C2;
    h1 ^= count, h2 ^= count;
    h1 += h2, h2 += h1;
    h1 = murmur_finish(h1), h2 = murmur_finish(h2);
    h1 += h2, h2 += h1;
    digest[0] = h1, digest[1] = h2;
}

/* ---- SpookyHash V2 ---- */

static void short_mix(uint64_t h[4])
{
    static const int r[12] = {50, 52, 30, 41, 54, 48, 38, 37, 62, 34, 5, 36};
    for (int k = 0; k < 12; k++) {
        int i = (k + 2) % 4;
        h[i] = rol(h[i], r[k]) + h[(i + 1) % 4];
        h[(i + 2) % 4] ^= h[i];
    }
}

static void short_end(uint64_t h[4])
{
    static const int r[11] = {15, 52, 26, 51, 28, 9, 47, 54, 32, 25, 63};
    for (int k = 0; k < 11; k++) {
        int i = (k + 3) % 4, j = (i + 3) % 4;
        h[i] ^= h[j];
        h[j] = rol(h[j], r[k]);
        h[i] += h[j];
    }
}

static void spooky_short(const uint8_t *p, size_t count, uint64_t digest[2])
{
    uint64_t h[4] = {0, 0, SPOOKY_CONST, SPOOKY_CONST};
    size_t left = count;
    for (int pair = 0; left >= 16; left -= 16, p += 16, pair++) {
        int at = pair % 2 ? 0 : 2;
        h[at] += word(p), h[at + 1] += word(p + 8);
        if (at) short_mix(h);
    }
    h[3] += (uint64_t)count << 56;
    if (left) {
        uint8_t tail[16] = {0};
        memcpy(tail, p, left);
        h[2] += word(tail), h[3] += word(tail + 8);
    } else {
        h[2] += SPOOKY_CONST, h[3] += SPOOKY_CONST;
    }
    short_end(h);
    digest[0] = h[0], digest[1] = h[1];
}

static void long_mix(uint64_t s[12], const uint8_t *p)
{
    static const int r[12] = {11, 32, 43, 31, 17, 28, 39, 57, 55, 54, 22, 46};
    for (int i = 0; i < 12; i++) {
        s[i] += word(p + 8 * i);
        s[(i + 2) % 12] ^= s[(i + 10) % 12];
        s[(i + 11) % 12] ^= s[i];
        s[i] = rol(s[i], r[i]);
        s[(i + 11) % 12] += s[(i + 1) % 12];
    }
}

static void long_end(uint64_t s[12])
{
    static const int r[12] = {44, 15, 34, 21, 38, 33, 10, 13, 38, 53, 42, 54};
    for (int i = 0; i < 12; i++) {
        s[(i + 11) % 12] += s[(i + 1) % 12];
        s[(i + 2) % 12] ^= s[(i + 11) % 12];
        s[(i + 1) % 12] = rol(s[(i + 1) % 12], r[i]);
    }
}

void su_spooky(const void *bytes, size_t count, uint64_t digest[2])
{
    const uint8_t *p = bytes;
    if (count < 192) {
        spooky_short(p, count, digest);
        return;
    }
    uint64_t s[12];
    for (int i = 0; i < 12; i++) s[i] = i % 3 == 2 ? SPOOKY_CONST : 0;
    size_t left = count;
    for (; left >= 96; left -= 96, p += 96) long_mix(s, p);
    uint8_t tail[96] = {0};
    if (left) memcpy(tail, p, left);
    tail[95] = (uint8_t)left;
    for (int i = 0; i < 12; i++) s[i] += word(tail + 8 * i);
    for (int k = 0; k < 3; k++) long_end(s);
    digest[0] = s[0], digest[1] = s[1];
}

void su_spooky_mix(uint64_t h[2], const uint64_t d[2])
{
    uint64_t s[4] = {h[0], h[1], d[0], d[1]};
    short_end(s);
    h[0] = s[0], h[1] = s[1];
}
