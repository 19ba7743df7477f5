/* The kernels of the pose part (runtime/kernels/kernels_pose.h); part of kernels_set_body.h. */

/* Of eight lanes at `in`, `apart` numbers from entry to entry, `vector` eight of them. */
#define SCATTER(vector, apart, transposed)                                                                             \
    do {                                                                                                               \
        int64_t k = 0;                                                                                                 \
        for (; k + 8 <= count; k += 8)                                                                                 \
            for (int64_t i = 0; i < entries; i++) {                                                                    \
                vector a[8], b[8];                                                                                     \
                UNROLL_FOR (int n = 0; n < 8; n++) a[n] = AT(vector, in + ((k + n) * entries + i) * apart);            \
                transposed(a, b);                                                                                      \
                UNROLL_FOR (int f = 0; f < 8; f++)                                                                     \
                    if (f < frames) AT(vector##u, out[f] + i * stride + k) = b[f];                                     \
            }                                                                                                          \
        for (; k < count; k++)                                                                                         \
            for (int64_t i = 0; i < entries; i++)                                                                      \
                for (int64_t f = 0; f < frames; f++) out[f][i * stride + k] = in[(k * entries + i) * apart + f];       \
    } while (0)

static void scatter(int64_t frames, int64_t count, int64_t entries, int64_t stride, const double *in,
                    double *const out[SU_FRAMES])
{
    SCATTER(v8, 8, transpose);
}

static void scatter_floats(int64_t frames, int64_t count, int64_t entries, int64_t stride, const float *in,
                           float *const out[SU_FRAMES])
{
    SCATTER(f8, 16, transpose_f);
}

static void scatter_corners(int64_t frames, int64_t count, const int32_t *corner, int64_t points, int64_t stride,
                            const float *in, float *const out[SU_FRAMES])
{
    static const float still[SU_TURN_WIDE] __attribute__((aligned(64)));
    for (int64_t k = 0; k < count; k += 8)
        for (int c = 0; c < 4; c++) {
            const float *from[8]; /* the last eight repeat the last tet in the padding */
            for (int64_t n = 0; n < 8; n++) {
                int64_t point = corner[4 * (k + n < count ? k + n : count - 1) + c];
                from[n] = point < points ? in + SU_TURN_WIDE * point : still;
            }
            for (int i = 0; i < 9; i++) {
                f8 a[8], b[8];
                UNROLL_FOR (int n = 0; n < 8; n++) a[n] = AT(f8u, from[n] + 16 * i);
                transpose_f(a, b);
                UNROLL_FOR (int f = 0; f < 8; f++)
                    if (f < frames) AT(f8, out[f] + (9 * c + i) * stride + k) = b[f];
            }
        }
}

static void moved(int64_t count, const double *neutral, const double *const skins[SU_REST_FRAMES], float *out)
{
    int64_t at = 0;
    for (; at + 8 <= count; at += 8)
        for (int half = 0; half < 2; half++) {
            v8 a[8], b[8], from = AT(v8u, neutral + at);
            UNROLL_FOR (int f = 0; f < 8; f++) a[f] = AT(v8u, skins[8 * half + f] + at) - from;
            transpose(a, b);
            UNROLL_FOR (int n = 0; n < 8; n++) AT(f8, out + 16 * (at + n) + 8 * half) = NARROW(b[n]);
        }
    for (; at < count; at++)
        for (int f = 0; f < SU_REST_FRAMES; f++) out[16 * at + f] = (float)(skins[f][at] - neutral[at]);
}

/* One point or two, whose sums need not wait for each other; `wide`: one number more can be read behind each. The
 * neutral position is taken off in two floats, so that a difference is rounded as what it is. */
INLINE void sample_points(int points, const int32_t *list, const double *neutral, const su_shot_sum *of, bool wide,
                          float *out)
{
    f4 moved[2][SU_SAMPLED], bent[2][SU_SAMPLED];
    UNROLL_FOR (int k = 0; k < points; k++) {
        v4 at = {neutral[3 * k], neutral[3 * k + 1], neutral[3 * k + 2], 0};
        f4 high = NARROW4(at), low = NARROW4(at - WIDEN4(high));
        for (int64_t n = 0; n < of->frames; n++) {
            const float *x = of->positions[n] + 3 * (int64_t)list[k];
            f4 here = wide ? (f4)AT(f4u, x) : (f4){x[0], x[1], x[2], 0};
            moved[k][n] = (here - high) - low;
        }
        for (int64_t n = 0; n < of->bent.count; n++) {
            const f4 *row = moved[k] + of->bent.row[n];
            bent[k][n] = (row[-1] - row[0]) - (row[0] - row[1]);
        }
    }
    for (int part = 0; part < 16; part += FLOATS) {
        floats sum[2][3] = {{{0}}};
        for (int64_t n = 0; n < of->own.count; n++) {
            floats weight = AT(floats, of->own.weight[n] + part);
            UNROLL_FOR (int k = 0; k < points; k++)
                UNROLL_FOR (int i = 0; i < 3; i++) sum[k][i] += moved[k][of->own.row[n]][i] * weight;
        }
        for (int64_t n = 0; n < of->bent.count; n++) {
            floats weight = AT(floats, of->bent.weight[n] + part);
            UNROLL_FOR (int k = 0; k < points; k++)
                UNROLL_FOR (int i = 0; i < 3; i++) sum[k][i] += bent[k][n][i] * weight;
        }
        UNROLL_FOR (int k = 0; k < points; k++)
            UNROLL_FOR (int i = 0; i < 3; i++) WIDE(out + SU_POINT_WIDE * k + part, i) = sum[k][i];
    }
}

static void sample(int64_t points, const int32_t *list, const double *neutral, const su_shot_sum *of, float *out)
{
    int64_t k = 0;
    for (; k + 2 < points; k += 2) sample_points(2, list + k, neutral + 3 * k, of, true, out + SU_POINT_WIDE * k);
    for (; k < points; k++) sample_points(1, list + k, neutral + 3 * k, of, false, out + SU_POINT_WIDE * k);
}

/* Sums over the even and the odd of what a vertex follows, as three sums alone would wait for themselves. */
INLINE void follow(int64_t count, const int32_t *index, const float *weight, const float *moved, floats sum[3])
{
    floats odd[3] = {{0}};
    int64_t k = 0;
    for (; k + 2 <= count; k += 2) {
        const float *one = moved + SU_POINT_WIDE * (int64_t)index[k],
                    *other = moved + SU_POINT_WIDE * (int64_t)index[k + 1];
        UNROLL_FOR (int c = 0; c < 3; c++) sum[c] += weight[k] * WIDE(one, c), odd[c] += weight[k + 1] * WIDE(other, c);
    }
    if (k < count)
        UNROLL_FOR (int c = 0; c < 3; c++) sum[c] += weight[k] * WIDE(moved + SU_POINT_WIDE * (int64_t)index[k], c);
    UNROLL_FOR (int c = 0; c < 3; c++) sum[c] += odd[c];
}

static void rest(int64_t frames, const su_rest_ties *ties, int64_t kept, const float *moved, const float *w,
                 double *const x[2], float *near)
{
    for (int64_t n = 0; n < ties->count; n++) {
        int64_t v = ties->order[n];
        const double *base = ties->base + 3 * v;
        const float *delta = ties->corrections + 3 * ties->m * v;
        for (int part = 0; part < frames; part += FLOATS) {
            floats sum[3] = {{0}};
            follow(ties->ties, ties->index + ties->ties * v, ties->weight + ties->ties * v, moved + part, sum);
            for (int64_t i = 0; i < ties->m; i++) {
                floats wi = WIDE(w + part, i);
                UNROLL_FOR (int c = 0; c < 3; c++) sum[c] += delta[3 * i + c] * wi;
            }
            if (v < kept)
                UNROLL_FOR (int c = 0; c < 3; c++)
                    UNROLL_FOR (int half = 0; half < 2; half++) {
                        int lane = part + half * DOUBLES;
                        double *to = x[lane / 8];
                        if (to)
                            AT(doubles, to + SU_POINT_FRAMES * v + 8 * c + lane % 8) =
                                base[c] + WIDEN_FEW(HALF(sum[c], half));
                    }
            if (near)
                UNROLL_FOR (int c = 0; c < 3; c++)
                    WIDE(near + SU_POINT_WIDE * v + part, c) = ties->near[3 * v + c] + sum[c];
        }
    }
}

/* ---- rotations ---- */

/* Frames of a point in a vector; four points side by side where there are registers, as each is one long chain of
 * dependent operations. */
enum { BATCH = FLOATS == 16 ? 4 : 1 };

/* Rotations in floats, which round to 6e-8. Volume squared over |F|^6 below which F is too flat, or inverted, for the
 * largest root to be simple (a rotation: 1/27); the last step of a root, squared and relative, that is near enough; the
 * least share of the first column, squared: cos^2(134 degrees / 2); the least length squared that has a float root; and
 * how far, squared, the mean of four rotations may be from one after its polar steps. */
static const float FLAT = 1e-4f, ROOT_END = 1e-7f, SIDEWAYS = 0.15f, LEAST_SQUARE = 1e-30f, CONTRADICTION = 1e-10f;

/* The coefficients of Davenport's characteristic polynomial of F, l^4 - 2 square l^2 - 8 det l + whole: square = |F|^2,
 * whole = square^2 - 4 |cofactors|^2. flat: lanes to be left to others. */
INLINE void characteristic(const floats F[9], floats *square, floats *eight_det, floats *whole, masks *flat)
{
    floats C[9], t = {0}, c = {0};
    COFACTORS(F, C);
    EACH_ENTRY (k) t += F[k] * F[k], c += C[k] * C[k];
    floats det = F[0] * C[0] + F[1] * C[1] + F[2] * C[2];
    *flat = ~((det > 0) & (det * det > FLAT * t * t * t));
    *square = t;
    *eight_det = 8 * det;
    *whole = t * t - 4 * c;
}

/* The largest root, s0 + s1 + s2, by Newton from above: it is at most sqrt(3) |F| <= (|F|^2 + 3) / 2, with equality at
 * rotations. The derivative's inverse follows it by Newton, too. far: lanes that three steps did not bring close. */
INLINE void largest_roots(const floats square[BATCH], const floats eight_det[BATCH], const floats whole[BATCH],
                          floats root[BATCH], masks far[BATCH])
{
    floats inverse[BATCH], step[BATCH];
    UNROLL_FOR (int k = 0; k < 3; k++)
        UNROLL_FOR (int n = 0; n < BATCH; n++) {
            if (k == 0) root[n] = 0.5f * square[n] + 1.5f;
            floats l = root[n], twice = 2 * square[n];
            floats value = ((l * l - twice) * l - eight_det[n]) * l + whole[n];
            floats slope = (4 * l * l - 2 * twice) * l - eight_det[n];
            if (k == 0) {
                inverse[n] = (floats)(0x7ef311c7 - (masks)slope); /* good to 12 %, if positive */
                inverse[n] *= 2 - slope * inverse[n];
                inverse[n] *= 2 - slope * inverse[n];
            }
            inverse[n] *= 2 - slope * inverse[n];
            step[n] = value * inverse[n];
            root[n] = l - step[n];
        }
    UNROLL_FOR (int n = 0; n < BATCH; n++) {
        floats size = step[n] * step[n];
        far[n] = ~(size <= ROOT_END * root[n] * root[n]);
    }
}

#define SQUARE4(q) ((q)[0] * (q)[0] + (q)[1] * (q)[1] + (q)[2] * (q)[2] + (q)[3] * (q)[3])

/* A quaternion of that square becomes one of unit length. */
INLINE void scale_to_unit(const floats *square, floats q[4])
{
    floats inverse;
    inverse_root(square, &inverse);
    UNROLL_FOR (int i = 0; i < 4; i++) q[i] *= inverse;
}

/* Davenport's matrix of F is K = [tr F, z'; z, F + F' - tr F], z the axial part. q, not yet of unit length: the first
 * column of the adjugate of K - root, which is rank one, +- q q'. sideways: lanes where that column is small (turned by
 * 134 degrees or more). */
INLINE void first_column(const floats F[9], const floats *root, floats q[4], masks *sideways)
{
    floats sum = F[0] + F[4] + F[8] + *root, a = sum - 2 * F[0], b = sum - 2 * F[4], c = sum - 2 * F[8];
    floats x = F[7] - F[5], y = F[2] - F[6], z = F[3] - F[1], e = F[1] + F[3], f = F[2] + F[6], g = F[5] + F[7];
    floats A00 = b * c - g * g, A01 = e * c + f * g, A02 = e * g + f * b, A11 = a * c - f * f, A12 = g * a + e * f,
           A22 = a * b - e * e;
    q[0] = a * A00 - e * A01 - f * A02;
    q[1] = A00 * x + A01 * y + A02 * z, q[2] = A01 * x + A11 * y + A12 * z, q[3] = A02 * x + A12 * y + A22 * z;
    floats size = SQUARE4(q);
    *sideways = ~(q[0] * q[0] > SIDEWAYS * size);
    scale_to_unit(&size, q);
}

/* The column with the largest diagonal, for any rotation. */
INLINE void largest_column(const floats F[9], const floats *root, floats q[4])
{
    floats a = F[0] + F[4] + F[8] - *root, b = F[0] - F[4] - F[8] - *root, c = F[4] - F[0] - F[8] - *root;
    floats d = F[8] - F[0] - F[4] - *root;
    floats x = F[7] - F[5], y = F[2] - F[6], z = F[3] - F[1], e = F[1] + F[3], f = F[2] + F[6], g = F[5] + F[7];
    floats n01 = a * b - x * x, n02 = a * e - x * y, n03 = a * f - x * z, n12 = x * e - b * y, n13 = x * f - b * z,
           n23 = y * f - e * z;
    floats m02 = y * g - c * z, m03 = y * d - g * z, m12 = e * g - c * f, m13 = e * d - g * f, m23 = c * d - g * g;
    floats A00 = b * m23 - e * m13 + f * m12, A11 = a * m23 - y * m03 + z * m02;
    floats A22 = d * n01 - f * n03 + z * n13, A33 = c * n01 - e * n02 + y * n12;
    floats A01 = y * m13 - x * m23 - z * m12, A02 = d * n12 - g * n13 + f * n23, A03 = c * n13 - g * n12 - e * n23;
    floats A12 = g * n03 - d * n02 - z * n23, A13 = g * n02 - c * n03 + y * n23, A23 = e * n03 - g * n01 - y * n13;
    /* all diagonal entries have one sign: squares compare their sizes */
    floats best = A00 * A00, value = A11 * A11;
    masks better = value > best;
    q[0] = WHERE(better, A01, A00), q[1] = WHERE(better, A11, A01), q[2] = WHERE(better, A12, A02);
    q[3] = WHERE(better, A13, A03);
    best = WHERE(better, value, best), value = A22 * A22, better = value > best;
    q[0] = WHERE(better, A02, q[0]), q[1] = WHERE(better, A12, q[1]), q[2] = WHERE(better, A22, q[2]);
    q[3] = WHERE(better, A23, q[3]);
    best = WHERE(better, value, best), value = A33 * A33, better = value > best;
    q[0] = WHERE(better, A03, q[0]), q[1] = WHERE(better, A13, q[1]), q[2] = WHERE(better, A23, q[2]);
    q[3] = WHERE(better, A33, q[3]);
    floats size = SQUARE4(q);
    size = WHERE(size > LEAST_SQUARE, size, (floats){0} + LEAST_SQUARE);
    scale_to_unit(&size, q);
}

/* The lanes that need it in full. odd: those for scalar code, flat or far from a rotation. */
static __attribute__((noinline)) void difficult_quaternion(const floats F[9], const floats *root, const masks *odd,
                                                           floats q[4])
{
    largest_column(F, root, q);
    for (int lane = 0; lane < FLOATS; lane++) {
        if (!(*odd)[lane]) continue;
        double one[9], R[9], value[4];
        for (int k = 0; k < 9; k++) one[k] = F[k][lane];
        su_nearest_rotation(one, R);
        su_quaternion_of(R, value);
        for (int k = 0; k < 4; k++) q[k][lane] = (float)value[k];
    }
}

INLINE void deformation(const su_ring *ring, int64_t point, const float *x, floats F[9])
{
    const float *own = x + SU_POINT_WIDE * point;
    floats at[3], sum[9] = {{0}};
    UNROLL_FOR (int a = 0; a < 3; a++) at[a] = WIDE(own, a);
    for (int32_t j = ring->start[point]; j < ring->start[point + 1]; j++) {
        const float *other = x + SU_POINT_WIDE * (int64_t)ring->neighbour[j], *g = ring->coefficient + 3 * (int64_t)j;
        UNROLL_FOR (int a = 0; a < 3; a++) {
            floats edge = WIDE(other, a) - at[a];
            UNROLL_FOR (int b = 0; b < 3; b++) sum[3 * a + b] += g[b] * edge;
        }
    }
    EACH_ENTRY (k) F[k] = sum[k];
}

/* Rotation matrices from quaternions, made of unit length to the last bit; entries of R are sixteen apart. */
INLINE void rotation_of(const floats q[4], float *R)
{
    floats norm = 1.5f - 0.5f * SQUARE4(q), out[9];
    floats w = q[0] * norm, a = q[1] * norm, b = q[2] * norm, c = q[3] * norm;
    out[0] = 1 - 2 * (b * b + c * c), out[1] = 2 * (a * b - w * c), out[2] = 2 * (a * c + w * b);
    out[3] = 2 * (a * b + w * c), out[4] = 1 - 2 * (a * a + c * c), out[5] = 2 * (b * c - w * a);
    out[6] = 2 * (a * c - w * b), out[7] = 2 * (b * c + w * a), out[8] = 1 - 2 * (a * a + b * b);
    EACH_ENTRY (i) WIDE(R, i) = out[i];
}

/* The mean of the nodes' gradients at a point. */
INLINE void node_mean(const su_node_rows *rows, int64_t point, const float *G, floats F[9])
{
    floats sum[9] = {{0}};
    for (int32_t j = rows->start[point]; j < rows->start[point + 1]; j++) {
        const float *node = G + SU_TURN_WIDE * (int64_t)rows->node[j];
        EACH_ENTRY (k) sum[k] += rows->weight[j] * WIDE(node, k);
    }
    EACH_ENTRY (k) F[k] = sum[k];
}

/* Of a ring's points, or where rows are given of theirs. */
INLINE void rotations_part(int64_t points, const su_ring *ring, const su_node_rows *rows, const float *x,
                           float *rotation)
{
    for (int64_t k = 0; k < points; k += BATCH) {
        floats F[BATCH][9], square[BATCH], eight_det[BATCH], whole[BATCH], root[BATCH], q[BATCH][4];
        masks flat[BATCH], far[BATCH], sideways[BATCH], any = {0};
        UNROLL_FOR (int n = 0; n < BATCH; n++) { /* the last batch repeats its last point */
            int64_t point = k + n < points ? k + n : points - 1;
            if (rows)
                node_mean(rows, point, x, F[n]);
            else
                deformation(ring, point, x, F[n]);
            characteristic(F[n], square + n, eight_det + n, whole + n, flat + n);
        }
        largest_roots(square, eight_det, whole, root, far);
        UNROLL_FOR (int n = 0; n < BATCH; n++) {
            first_column(F[n], root + n, q[n], sideways + n);
            flat[n] |= far[n];
            any |= sideways[n] | flat[n];
        }
        if (ANY_LANE(any))
            for (int n = 0; n < BATCH; n++) {
                masks difficult = sideways[n] | flat[n];
                floats own[4];
                if (!ANY_LANE(difficult)) continue;
                difficult_quaternion(F[n], root + n, flat + n, own);
                UNROLL_FOR (int i = 0; i < 4; i++)
                    q[n][i] = WHERE(difficult, own[i], q[n][i]); /* a lane does not feel the others */
            }
        for (int n = 0; n < BATCH && k + n < points; n++) rotation_of(q[n], rotation + SU_TURN_WIDE * (k + n));
    }
}

static void rotations(int64_t frames, const su_ring *ring, const float *x, float *rotation)
{
    for (int part = 0; part < frames; part += FLOATS)
        rotations_part(ring->points, ring, NULL, x + part, rotation + part);
}

static void node_rotations(int64_t frames, const su_node_rows *rows, const float *G, float *rotation)
{
    for (int part = 0; part < frames; part += FLOATS)
        rotations_part(rows->points, NULL, rows, G + part, rotation + part);
}

static void gradients(int64_t frames, const su_ring *nodes, const float *x, float *G)
{
    for (int64_t k = 0; k < nodes->points; k++)
        for (int part = 0; part < frames; part += FLOATS) {
            floats sum[9] = {{0}};
            for (int32_t j = nodes->start[k]; j < nodes->start[k + 1]; j++) {
                const float *at = x + SU_POINT_WIDE * (int64_t)nodes->neighbour[j] + part,
                            *g = nodes->coefficient + 3 * (int64_t)j;
                UNROLL_FOR (int a = 0; a < 3; a++) {
                    floats here = WIDE(at, a);
                    UNROLL_FOR (int b = 0; b < 3; b++) sum[3 * a + b] += g[b] * here;
                }
            }
            EACH_ENTRY (i) WIDE(G + SU_TURN_WIDE * k + part, i) = sum[i];
        }
}

/* ---- rest shapes of tets ---- */

static void shapes(int64_t count, const int32_t *corner, const double *neutral_inverse, const double *x,
                   double *gradient, double *volume, uint8_t *collapsed)
{
    for (int64_t k = 0; k < count;
         k++, corner += 4, neutral_inverse += 9, gradient += SU_GRADIENT_FRAMES, volume += 8) {
        v8 E[9], C[9], *g = (v8 *)gradient;
        UNROLL_FOR (int a = 0; a < 3; a++)
            UNROLL_FOR (int c = 0; c < 3; c++)
                E[3 * a + c] = AT(v8, x + SU_POINT_FRAMES * (int64_t)corner[c + 1] + 8 * a) -
                               AT(v8, x + SU_POINT_FRAMES * (int64_t)corner[0] + 8 * a);
        COFACTORS(E, C);
        v8 det = E[0] * C[0] + E[1] * C[1] + E[2] * C[2];
        m8 flat = ~(det * su_det3(neutral_inverse) >= SU_COLLAPSED);
        v8 inverse = 1 / WHERE(flat, SPLAT(1.0), det);
        UNROLL_FOR (int b = 0; b < 3; b++) {
            UNROLL_FOR (int c = 0; c < 3; c++) g[3 * (c + 1) + b] = C[3 * b + c] * inverse;
            g[b] = -g[3 + b] - g[6 + b] - g[9 + b];
        }
        AT(v8, volume) = det * (1.0 / 6.0);
        uint8_t mask = 0;
        for (int lane = 0; lane < 8; lane++) mask |= (uint8_t)((flat[lane] != 0) << lane);
        collapsed[k] = mask;
    }
}

/* Newton and Schulz's iteration for the polar factor, as su_mean_rotation() has it; singular values of a mean of
 * rotations are at most 1, and from 0.5 on these steps end at rounding. */
enum { POLAR_STEPS = 5 };

static void turned_shapes(int64_t count, const int32_t *corner, const double *neutral_inverse,
                          const double *neutral_volume, const float *rotation, double *gradient, double *volume,
                          uint8_t *contradicting)
{
    for (int64_t k = 0; k < count; k++, corner += 4, neutral_inverse += 9, gradient += SU_GRADIENT_FRAMES) {
        f8 R[9], S[6], away = {0};
        v8 *g = (v8 *)gradient;
        EACH_ENTRY (i) {
            R[i] = AT(f8u, rotation + SU_TURN_WIDE * (int64_t)corner[0] + 16 * i) +
                   AT(f8u, rotation + SU_TURN_WIDE * (int64_t)corner[1] + 16 * i) +
                   AT(f8u, rotation + SU_TURN_WIDE * (int64_t)corner[2] + 16 * i) +
                   AT(f8u, rotation + SU_TURN_WIDE * (int64_t)corner[3] + 16 * i);
            R[i] *= 0.25f;
        }
        for (int step = 0; step <= POLAR_STEPS; step++) {
            S[0] = R[0] * R[0] + R[3] * R[3] + R[6] * R[6], S[1] = R[1] * R[1] + R[4] * R[4] + R[7] * R[7];
            S[2] = R[2] * R[2] + R[5] * R[5] + R[8] * R[8], S[3] = R[0] * R[1] + R[3] * R[4] + R[6] * R[7];
            S[4] = R[0] * R[2] + R[3] * R[5] + R[6] * R[8], S[5] = R[1] * R[2] + R[4] * R[5] + R[7] * R[8];
            if (step == POLAR_STEPS) break;
            UNROLL_FOR (int a = 0; a < 3; a++) {
                f8 x = R[3 * a], y = R[3 * a + 1], z = R[3 * a + 2];
                R[3 * a] = 0.5f * (x * (3 - S[0]) - y * S[3] - z * S[4]);
                R[3 * a + 1] = 0.5f * (y * (3 - S[1]) - x * S[3] - z * S[5]);
                R[3 * a + 2] = 0.5f * (z * (3 - S[2]) - x * S[4] - y * S[5]);
            }
        }
        UNROLL_FOR (int i = 0; i < 6; i++) {
            f8 off = S[i] - (i < 3 ? 1.0f : 0.0f);
            away += off * off;
        }
        uint8_t mask = 0;
        for (int lane = 0; lane < 8; lane++) mask |= (uint8_t)(!(away[lane] < CONTRADICTION) << lane);
        contradicting[k] = mask;
        UNROLL_FOR (int b = 0; b < 3; b++) {
            v8 x = WIDEN(R[3 * b]), y = WIDEN(R[3 * b + 1]), z = WIDEN(R[3 * b + 2]);
            UNROLL_FOR (int c = 0; c < 3; c++)
                g[3 * (c + 1) + b] =
                    neutral_inverse[3 * c] * x + neutral_inverse[3 * c + 1] * y + neutral_inverse[3 * c + 2] * z;
            g[b] = -g[3 + b] - g[6 + b] - g[9 + b];
        }
        AT(v8, volume + 8 * k) = SPLAT(neutral_volume[k]);
    }
}

static void materials(const su_tet_materials *of, const double *blend, double *volume, double *mu, double *lambda)
{
    const int64_t count = of->count, m = of->m;
    const double *weight = of->weight, *young = of->young, *poisson = of->poisson;
    for (int64_t k = 0; k < count; k++) {
        v8 w = {0}, E = {0}, nu = {0};
        for (int64_t i = 0; i < m; i++) {
            v8 b = AT(v8, blend + 8 * i);
            w += b * weight[i * count + k], E += b * young[i * count + k], nu += b * poisson[i * count + k];
        }
        AT(v8, volume + 8 * k) *= w;
        AT(v8, mu + 8 * k) = SU_LAME_MU(E, nu);
        AT(v8, lambda + 8 * k) = SU_LAME_LAMBDA(E, nu);
    }
}

static void world(int64_t count, const int32_t *point, const float *rotation, const double *x, const double *Q,
                  const double *c, double *turn, double *out)
{
    for (int64_t k = 0; k < count; k++) {
        const v8 *at = (const v8 *)(x + SU_POINT_FRAMES * (int64_t)point[k]), *q = (const v8 *)Q;
        v8 R[9];
        EACH_ENTRY (a) R[a] = WIDEN(AT(f8, rotation + SU_TURN_WIDE * (int64_t)point[k] + 16 * a));
        UNROLL_FOR (int a = 0; a < 3; a++) {
            UNROLL_FOR (int b = 0; b < 3; b++)
                AT(v8, turn + SU_TURN_FRAMES * k + 8 * (3 * a + b)) =
                    q[3 * a] * R[b] + q[3 * a + 1] * R[3 + b] + q[3 * a + 2] * R[6 + b];
            AT(v8, out + SU_POINT_FRAMES * k + 8 * a) =
                AT(v8, c + 8 * a) + (q[3 * a] * at[0] + q[3 * a + 1] * at[1] + q[3 * a + 2] * at[2]);
        }
    }
}

/* ---- rows ---- */

static void blend_rows(int64_t frames, int64_t m, int64_t size, const float *source, const float *b, const float *scale,
                       float *const rows[SU_FRAMES], int64_t at)
{
    int64_t j = 0;
    for (; j + FLOATS <= size; j += FLOATS) {
        floats sum[8] = {{0}};
        for (int64_t i = 0; i < m; i++) {
            floats s = AT(floats_u, source + i * size + j);
            UNROLL_FOR (int f = 0; f < 8; f++) sum[f] += b[8 * i + f] * s;
        }
        UNROLL_FOR (int f = 0; f < 8; f++) /* unrolled, so that sums live in registers */
            if (f < frames) AT(floats_u, rows[f] + at + j) = sum[f] * AT(floats_u, scale + f * size + j);
    }
    if (j == size) return;
    f8 sum[8] = {{0}};
    for (int64_t i = 0; i < m; i++) {
        f8 s = AT(f8, source + i * size + j);
        UNROLL_FOR (int f = 0; f < 8; f++) sum[f] += b[8 * i + f] * s;
    }
    UNROLL_FOR (int f = 0; f < 8; f++)
        if (f < frames) AT(f8, rows[f] + at + j) = sum[f] * AT(f8, scale + f * size + j);
}

/* A corner's rows in the columns of its tet. */
INLINE void spread_rows(const su_tet_rows *what, int c, const float *rows, float *out)
{
    int64_t apart = what->row_stride[c], stride = what->stride;
    const int32_t *tap = what->tap_start + c;
    const su_tap *taps = what->taps;
    for (int64_t j = 0; j < stride; j += 8, tap += 4) {
        f8 x = {0}, y = {0}, z = {0};
        for (int32_t k = tap[0], end = tap[1]; k < end; k++) {
            const float *row = rows + taps[k].offset;
            f8 mask = AT(f8, taps[k].mask);
            x += mask * AT(f8u, row);
            y += mask * AT(f8u, row + apart);
            z += mask * AT(f8u, row + 2 * apart);
        }
        AT(f8, out + j) = x, AT(f8, out + stride + j) = y, AT(f8, out + 2 * stride + j) = z;
    }
}

/* `type` wide columns from j of sum over corners of (R rows) g'. */
#define COLUMNS_OF_B(type)                                                                                             \
    do {                                                                                                               \
        type sum[9] = {{0}};                                                                                           \
        for (int c = 0; c < corners; c++) {                                                                            \
            const float *row = rows[c] + j, *r = R[c], *at = g[c];                                                     \
            type x = AT(type##_u, row), y = AT(type##_u, row + apart[c]);                                              \
            type z = AT(type##_u, row + 2 * apart[c]);                                                                 \
            UNROLL_FOR (int a = 0; a < 3; a++) {                                                                       \
                type turned =                                                                                          \
                    r[SU_POINT_WIDE * a] * x + r[SU_POINT_WIDE * a + 16] * y + r[SU_POINT_WIDE * a + 32] * z;          \
                UNROLL_FOR (int b = 0; b < 3; b++) sum[3 * a + b] += at[8 * b] * turned;                               \
            }                                                                                                          \
        }                                                                                                              \
        EACH_ENTRY (a) AT(type##_u, B + a * stride + j) = sum[a];                                                      \
    } while (0)

static void build_B(const su_tet_rows *what)
{
    float gradient[4][3][8] __attribute__((aligned(32)));
    UNROLL_FOR (int c = 0; c < 4; c++)
        UNROLL_FOR (int k = 0; k < 3; k++)
            AT(f8, gradient[c][k]) = NARROW(AT(v8, what->gradient + SU_POINT_FRAMES * c + 8 * k));
    const int64_t frames = what->frames,
                  stride = what->stride; /* stores might change what they are read from, for the compiler */
    for (int64_t f = 0; f < frames; f++) {
        const float *rows[4], *R[4], *g[4];
        float *B = what->B[f];
        int64_t apart[4], j = 0;
        int corners = 0;
        for (int c = 0; c < 4; c++) {
            if (!what->R[c]) continue;
            const float *own = what->rows[c][f] + what->at[c];
            float *out = what->spread + 3 * stride * c;
            if (!what->same[c]) spread_rows(what, c, own, out);
            rows[corners] = what->same[c] ? own : out;
            apart[corners] = what->same[c] ? what->row_stride[c] : stride;
            R[corners] = what->R[c] + f, g[corners++] = &gradient[c][0][f];
        }
        for (; j + FLOATS <= stride; j += FLOATS) COLUMNS_OF_B(floats);
        for (; j < stride; j += 8) COLUMNS_OF_B(f8);
    }
}

#include "runtime/kernels/kernels_pose_abreast_body.h"

enum { GRAM_FRAMES = 4 };

/* sums[3][GRAM_FRAMES] (SU_GRAM wide) of one run of entries. */
INLINE void gram_sums(int64_t m, const float *source, const float *left, const float *const right[3], float *sums)
{
    for (int part = 0; part < SU_GRAM; part += FLOATS) {
        floats sum[3][GRAM_FRAMES] = {{{0}}};
        const float *s = source + part;
        for (int64_t j = 0; j < m; j++) {
            floats T[GRAM_FRAMES] = {{0}};
            for (int64_t i = 0; i < m; i++, s += SU_GRAM) {
                floats entry = AT(floats, s);
                UNROLL_FOR (int f = 0; f < GRAM_FRAMES; f++) T[f] += left[8 * i + f] * entry;
            }
            UNROLL_FOR (int k = 0; k < 3; k++)
                UNROLL_FOR (int f = 0; f < GRAM_FRAMES; f++) sum[k][f] += right[k][8 * j + f] * T[f];
        }
        UNROLL_FOR (int k = 0; k < 3; k++)
            UNROLL_FOR (int f = 0; f < GRAM_FRAMES; f++)
                AT(floats, sums + SU_GRAM * (GRAM_FRAMES * k + f) + part) = sum[k][f];
    }
}

static void gram_block(const su_gram_block *what)
{
    const int64_t m = what->m, size = what->rows * what->stride, stride = what->stride;
    float sums[3 * GRAM_FRAMES * SU_GRAM] __attribute__((aligned(64)));
    for (int64_t from = 0; from < what->frames; from += GRAM_FRAMES) {
        const float *right[3] = {what->right[0] + from, what->right[1] + from, what->right[2] + from};
        for (int64_t entry = 0; entry < size; entry += SU_GRAM) {
            gram_sums(m, what->source + entry * m * m, what->left + from, right, sums);
            for (int64_t at = entry; at < entry + SU_GRAM && at < size; at += 8) { /* half a run may be another row */
                int64_t a = at / stride, column = at - a * stride;
                for (int k = 0; k < 3; k++)
                    for (int f = 0; f < GRAM_FRAMES; f++) {
                        float *out = what->out[k][from + f];
                        if (!out) continue;
                        v8 scale = what->left_scale[from + f][a] * AT(v8u, what->right_scale[k][from + f] + column);
                        AT(f8, out + at) = AT(f8, sums + SU_GRAM * (GRAM_FRAMES * k + f) + at - entry) * NARROW(scale);
                    }
            }
        }
    }
}
