#include "io/usd/usdc_packed.h"

#include <stdlib.h>
#include <string.h>

int64_t su_usdc_most_unpacked(int64_t bytes)
{
    enum { LENGTH = 255, BLOCK = 64 }; /* a byte of a length stands for so many of a repetition, and what begins them */
    return bytes > INT64_MAX / LENGTH - BLOCK ? INT64_MAX : LENGTH * (bytes + BLOCK);
}

/* The rest of a length whose first four bits are all set: bytes up to the first that is not 255. False: the block ends.
 */
static bool longer(const uint8_t **at, const uint8_t *end, int64_t *length)
{
    uint8_t more = 255;
    while (more == 255) {
        if (*at == end) return false;
        more = *(*at)++;
        *length += more;
    }
    return true;
}

/* One LZ4 block behind what out has already; how many bytes are there then, -1: it is broken. */
static int64_t unpack_block(const uint8_t *at, const uint8_t *end, uint8_t *out, int64_t size)
{
    enum { LONG = 15, SHORTEST = 4 };
    int64_t done = 0;
    while (at < end) {
        uint8_t head = *at++;
        int64_t literals = head >> 4, repeated = head & LONG;
        if (literals == LONG && !longer(&at, end, &literals)) return -1;
        if (literals > end - at || literals > size - done) return -1;
        memcpy(out + done, at, (size_t)literals);
        at += literals, done += literals;
        if (at == end) break; /* the last has literals alone */
        if (end - at < 2) return -1;
        int64_t back = at[0] | at[1] << 8;
        at += 2;
        if (repeated == LONG && !longer(&at, end, &repeated)) return -1;
        repeated += SHORTEST;
        if (back == 0 || back > done || repeated > size - done) return -1;
        for (int64_t i = 0; i < repeated; i++) out[done + i] = out[done + i - back];
        done += repeated;
    }
    return done;
}

static uint64_t little(const uint8_t *at, int bytes)
{
    uint64_t out = 0;
    for (int i = 0; i < bytes; i++) out |= (uint64_t)at[i] << (8 * i);
    return out;
}

static int64_t with_sign(uint64_t bits, int bytes) { return (int64_t)(bits << (64 - 8 * bytes)) >> (64 - 8 * bytes); }

/* A byte says in how many blocks; with one (0) it stands there alone, else each has its size before it. How many bytes
 * there are; -1: it is broken, or they have no room. */
static int64_t unpack(const uint8_t *from, int64_t bytes, uint8_t *out, int64_t room)
{
    const uint8_t *at = from, *end = from + bytes;
    if (bytes < 1) return -1;
    int blocks = *at++;
    if (blocks == 0) return unpack_block(at, end, out, room);
    int64_t done = 0;
    for (int i = 0; i < blocks; i++) {
        if (end - at < 4) return -1;
        int64_t length = (int64_t)little(at, 4);
        at += 4;
        int64_t more = length <= end - at ? unpack_block(at, at + length, out + done, room - done) : -1;
        if (more < 0) return -1;
        at += length, done += more;
    }
    return done;
}

bool su_usdc_unpack(const uint8_t *from, int64_t bytes, uint8_t *out, int64_t size)
{
    return unpack(from, bytes, out, size) == size;
}

/* The commonest difference, two bits for each that say how wide it is (0: that one), and the others. */
bool su_usdc_unpack_integers(const uint8_t *from, int64_t bytes, bool wide, int64_t count, int64_t *out, bool *memory)
{
    const int widths[] = {0, wide ? 2 : 1, wide ? 4 : 2, wide ? 8 : 4}, whole = widths[3];
    int64_t limit = su_usdc_most_unpacked(bytes);
    *memory = true;
    if (count == 0) return true;
    if (count < 0 || count / 4 > limit) return false; /* they would not have their two bits */
    int64_t codes = (2 * count + 7) / 8, room = whole + codes + count * whole;
    uint8_t *data = malloc((size_t)(room < limit ? room : limit));
    if (!data) {
        *memory = false;
        return false;
    }
    int64_t size = unpack(from, bytes, data, room < limit ? room : limit), place = whole + codes, value = 0;
    bool good = size >= place;
    int64_t common = good ? with_sign(little(data, whole), whole) : 0;
    for (int64_t i = 0; i < count && good; i++) {
        int width = widths[data[whole + i / 4] >> (2 * (i % 4)) & 3];
        good = width <= size - place;
        if (!good) break;
        int64_t change = width ? with_sign(little(data + place, width), width) : common;
        place += width;
        value = (int64_t)((uint64_t)value + (uint64_t)change);
        out[i] = wide ? value : (int32_t)(uint32_t)value;
    }
    free(data);
    return good;
}
