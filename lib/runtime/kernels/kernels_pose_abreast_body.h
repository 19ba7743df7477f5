/* B of tets that stand abreast; part of kernels_pose_body.h. Sixteen tets are in the lanes, and a loop goes over the
 * frames. */

/* Of eight frames: rows[12 f + 3 corner + c] = sum_i b (m,8)[i][f] * source (m,3,16)[i][c], as many components at once
 * as there are registers. */
INLINE void blend_corner(int64_t m, const float *source, const float *b, floats *rows)
{
    enum { ONCE = FLOATS == 16 ? 3 : 1 };
    for (int c = 0; c < 3; c += ONCE) {
        floats sum[8][ONCE] = {{{0}}};
        for (int64_t i = 0; i < m; i++)
            UNROLL_FOR (int n = 0; n < ONCE; n++) {
                floats s = WIDE(source + SU_POINT_WIDE * i, c + n);
                UNROLL_FOR (int f = 0; f < 8; f++) sum[f][n] += b[8 * i + f] * s;
            }
        UNROLL_FOR (int f = 0; f < 8; f++)
            UNROLL_FOR (int n = 0; n < ONCE; n++) rows[12 * f + c + n] = sum[f][n];
    }
}

/* One column of B = sum over corners of (R rows) g', its nine entries sixteen apart. */
INLINE void abreast_B(const floats *rows, const float *R, int64_t stride, const float *g, float scale, float *B)
{
    floats sum[9] = {{0}};
    UNROLL_FOR (int c = 0; c < 4; c++) {
        floats x = rows[3 * c], y = rows[3 * c + 1], z = rows[3 * c + 2];
        UNROLL_FOR (int a = 0; a < 3; a++) {
            const float *r = R + (9 * c + 3 * a) * stride;
            floats turned = AT(floats, r) * x + AT(floats, r + stride) * y + AT(floats, r + 2 * stride) * z;
            UNROLL_FOR (int b = 0; b < 3; b++) sum[3 * a + b] += WIDE(g, 3 * c + b) * turned;
        }
    }
    EACH_ENTRY (k) WIDE(B, k) = scale * sum[k];
}

static void build_abreast(const su_abreast_rows *what)
{
    const int64_t frames = what->frames, stride = what->stride, m = what->m;
    float g[SU_FRAMES][12][16] __attribute__((aligned(64)));
    floats rows[12 * SU_FRAMES];
    for (int64_t f = 0; f < frames; f++)
        for (int i = 0; i < 12; i++)
            UNROLL_FOR (int half = 0; half < 16; half += 8)
                AT(f8, g[f][i] + half) = NARROW(AT(v8, what->gradient[f] + i * stride + half));
    for (int64_t j = 0; j < what->columns; j++)
        for (int part = 0; part < 16; part += FLOATS) {
            for (int c = 0; c < 4; c++)
                blend_corner(m, what->source + SU_POINT_WIDE * m * (4 * j + c) + part, what->b, rows + 3 * c);
            for (int64_t f = 0; f < frames; f++)
                abreast_B(rows + 12 * f, what->rotation[f] + part, stride, &g[f][0][part], what->scale[f][j],
                          what->B[f] + SU_ABREAST_COLUMN * j + part);
        }
}
