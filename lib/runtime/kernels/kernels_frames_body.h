/* The kernels of reconstruction (runtime/kernels/kernels_frames.h); part of kernels_set_body.h. */

/* Vertices whose sums live in registers at once. */
#if defined(SU_AVX512)
enum { RUN = 8 };
#else
enum { RUN = 2 };
#endif

INLINE bool any(const int32_t *slot, int count)
{
    bool found = false;
    for (int j = 0; j < count; j++) found |= slot[j] >= 0;
    return found;
}

#define COMBINE(count)                                                                                                 \
    for (int g = 0; g < groups && any(slot + v, count); g++) {                                                         \
        f16 sum[3 * count] = {{0}};                                                                                    \
        const float *row = block + 3 * v;                                                                              \
        for (int64_t k = 0; k < rows; k++, row += 3 * vertices) {                                                      \
            f16 c = AT(f16, factors + 16 * (g * rows + k));                                                            \
            UNROLL_FOR (int i = 0; i < 3 * count; i++) sum[i] += row[i] * c;                                           \
        }                                                                                                              \
        UNROLL_FOR (int j = 0; j < count; j++) {                                                                       \
            if (slot[v + j] < 0) continue;                                                                             \
            f16 *to = (f16 *)(u + SU_POINT_WIDE * (g * flesh + slot[v + j]));                                          \
            UNROLL_FOR (int i = 0; i < 3; i++) to[i] += sum[3 * j + i];                                                \
        }                                                                                                              \
    }

static void combine(int groups, int64_t rows, int64_t vertices, const float *block, const float *factors,
                    const int32_t *slot, int64_t flesh, float *u)
{
    int64_t v = 0;
    for (; v + RUN <= vertices; v += RUN) COMBINE(RUN)
    for (; v < vertices; v++) COMBINE(1)
}

static void combine_one(int64_t rows, int64_t count, const float *block, const float *c, float *sum)
{
    int64_t at = 0;
    for (; at + 4 * FLOATS <= count; at += 4 * FLOATS) {
        floats part[4] = {{0}};
        for (int64_t k = 0; k < rows; k++)
            UNROLL_FOR (int i = 0; i < 4; i++) part[i] += c[k] * AT(floats_u, block + k * count + at + FLOATS * i);
        UNROLL_FOR (int i = 0; i < 4; i++) AT(floats_u, sum + at + FLOATS * i) = part[i];
    }
    for (; at < count; at++) {
        float one = 0;
        for (int64_t k = 0; k < rows; k++) one += c[k] * block[k * count + at];
        sum[at] = one;
    }
}

static void turn(int64_t count, const float *rotation, float *u)
{
    for (int64_t k = 0; k < count; k++) {
        const f16 *R = (const f16 *)(rotation + SU_TURN_WIDE * k);
        f16 *at = (f16 *)(u + SU_POINT_WIDE * k), x = at[0], y = at[1], z = at[2];
        UNROLL_FOR (int a = 0; a < 3; a++) at[a] = R[3 * a] * x + R[3 * a + 1] * y + R[3 * a + 2] * z;
    }
}

/* Sixteen values of sixteen frames, frames in lanes, out as rows. */
INLINE void put_rows(const f16 in[16], int64_t frames, int64_t at, double *const out[SU_WIDE_FRAMES])
{
    for (int half = 0; half < 2; half++)
        for (int low = 0; low < 2; low++) {
            v8 a[8], b[8];
            if (8 * low >= frames) continue;
            UNROLL_FOR (int k = 0; k < 8; k++) {
                f8 part = low ? HIGH_FLOATS(in[8 * half + k]) : LOW_FLOATS(in[8 * half + k]);
                a[k] = WIDEN(part);
            }
            transpose(a, b);
            UNROLL_FOR (int k = 0; k < 8; k++)
                if (8 * low + k < frames) AT(v8u, out[8 * low + k] + at + 8 * half) = b[k];
        }
}

static void separate(int64_t frames, int64_t count, const float *u, double *const out[SU_WIDE_FRAMES])
{
    int64_t at = 0;
    for (; at + 16 <= 3 * count; at += 16) put_rows((const f16 *)(u + 16 * at), frames, at, out);
    for (; at < 3 * count; at++)
        for (int64_t f = 0; f < frames; f++) out[f][at] = (double)u[16 * at + f];
}

INLINE void embed_one(const int32_t *corner, const float *weight, const float *u, f16 out[3])
{
    f16 sum[3] = {{0}};
    UNROLL_FOR (int c = 0; c < 4; c++) {
        const f16 *at = (const f16 *)(u + SU_POINT_WIDE * (int64_t)corner[c]);
        UNROLL_FOR (int a = 0; a < 3; a++) sum[a] += weight[c] * at[a];
    }
    UNROLL_FOR (int a = 0; a < 3; a++) out[a] = sum[a];
}

static void embed(int64_t frames, int64_t count, const int32_t *corner, const float *weight, const float *u,
                  double *const out[SU_WIDE_FRAMES])
{
    f16 block[SU_POINT_WIDE];
    int64_t k = 0;
    for (; k + 16 <= count; k += 16) {
        for (int j = 0; j < 16; j++) embed_one(corner + 4 * (k + j), weight + 4 * (k + j), u, block + 3 * j);
        for (int i = 0; i < 3; i++) put_rows(block + 16 * i, frames, 3 * k + 16 * i, out);
    }
    for (; k < count; k++) {
        embed_one(corner + 4 * k, weight + 4 * k, u, block);
        for (int64_t f = 0; f < frames; f++)
            for (int a = 0; a < 3; a++) out[f][3 * k + a] = (double)block[a][f];
    }
}

static void weigh(int64_t count, int64_t K, const float *phi, const float *Z, float *u)
{
    for (int64_t v = 0; v < count; v++)
        for (int part = 0; part < 16 / FLOATS; part++) {
            floats sum[3] = {{0}};
            const float *z = Z + part * FLOATS;
            for (int64_t k = 0; k < K; k++, z += SU_POINT_WIDE)
                UNROLL_FOR (int i = 0; i < 3; i++) sum[i] += phi[v * K + k] * WIDE(z, i);
            UNROLL_FOR (int i = 0; i < 3; i++) AT(floats, u + SU_POINT_WIDE * v + 16 * i + part * FLOATS) = sum[i];
        }
}

static void weigh_one(int64_t count, int64_t K, const float *phi, const float *Z, float *u)
{
    for (int64_t v = 0; v < count; v++) {
        floats sum[3] = {{0}};
        const float *row = phi + v * K;
        int64_t k = 0;
        for (; k + FLOATS <= K; k += FLOATS) {
            floats p = AT(floats_u, row + k);
            UNROLL_FOR (int i = 0; i < 3; i++) sum[i] += p * AT(floats_u, Z + i * K + k);
        }
        for (int i = 0; i < 3; i++) {
            float total = 0;
            for (int lane = 0; lane < FLOATS; lane++) total += sum[i][lane];
            for (int64_t rest = k; rest < K; rest++) total += row[rest] * Z[i * K + rest];
            u[3 * v + i] = total;
        }
    }
}
