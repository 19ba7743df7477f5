/* Singular values and rotations of several 3 x 3 matrices at once, one in each lane of the vector units. By one-sided
 * Jacobi, which is accurate for flat and inverted matrices too. Inside files that are compiled for one set of vector
 * units, behind core/vector_begin.h. */
#ifndef SU_GEOMETRY_SVD_LANES_H
#define SU_GEOMETRY_SVD_LANES_H

enum { LANES = SU_VECTOR_BYTES / 8 };

typedef double lanes __attribute__((vector_size(SU_VECTOR_BYTES)));
typedef int64_t mask __attribute__((vector_size(SU_VECTOR_BYTES)));

SU_INLINE lanes root(lanes x)
{
    lanes out;
    for (int l = 0; l < LANES; l++) out[l] = sqrt(x[l]);
    return out;
}

SU_INLINE lanes choose(mask m, lanes a, lanes b) { return (lanes)((m & (mask)a) | (~m & (mask)b)); }
SU_INLINE lanes larger(lanes a, lanes b) { return choose(a > b, a, b); }
SU_INLINE lanes magnitude(lanes x) { return (lanes)((mask)x & INT64_MAX); }

SU_INLINE bool any(mask m)
{
    int64_t sum = 0;
    for (int l = 0; l < LANES; l++) sum |= m[l];
    return sum != 0;
}

/* Cosine and sine of the Jacobi rotation that makes a pair with diagonal p, q and product `off` orthogonal. */
SU_INLINE void jacobi(lanes p, lanes q, lanes off, lanes *c, lanes *s)
{
    lanes d = q - p, twice = 2.0 * off, one = (lanes){0} + 1.0;
    lanes size = magnitude(d) + root(d * d + twice * twice);
    lanes t = choose(d < 0.0, -twice, twice) / choose(size == 0.0, one, size);
    *c = 1.0 / root(1.0 + t * t);
    *s = t * *c;
}

SU_INLINE void rotate_columns(lanes *m, int p, int q, lanes c, lanes s)
{
    for (int i = 0; i < 3; i++) {
        lanes x = m[3 * i + p], y = m[3 * i + q];
        m[3 * i + p] = c * x - s * y;
        m[3 * i + q] = s * x + c * y;
    }
}

SU_INLINE lanes column_dot(const lanes *m, int p, int q)
{
    return m[p] * m[q] + m[3 + p] * m[3 + q] + m[6 + p] * m[6 + q];
}

/* Where `swap`: column q takes p's place, and minus p takes q's (stays a rotation). */
SU_INLINE void exchange(lanes *m, int p, int q, mask swap)
{
    for (int i = 0; i < 3; i++) {
        lanes x = m[3 * i + p], y = m[3 * i + q];
        m[3 * i + p] = choose(swap, y, x);
        m[3 * i + q] = choose(swap, -x, y);
    }
}

/* Cosine below which two columns stand at right angles: what one more rotation leaves of it is rounding. */
#define STRAIGHT 1e-9

/* B in: F; out: F V. Columns of U, V proper; s descending in size, the sign on the last. Lanes that have lost two
 * dimensions get some rotation of the right kind. */
SU_INLINE void singular_values(lanes B[9], lanes U[9], lanes s[3], lanes V[9])
{
    lanes zero = {0}, one = zero + 1.0;
    for (int i = 0; i < 9; i++) V[i] = i % 4 == 0 ? one : zero;
    enum { MOST = 12 };        /* sweeps; near the identity three */
    mask turning = one > zero; /* each lane for itself, so that it does not depend on its neighbours */
    for (int sweep = 0; sweep < MOST && any(turning); sweep++) {
        mask turned = {0};
        for (int p = 0; p < 2; p++)
            for (int q = p + 1; q < 3; q++) {
                lanes c, t, pp = column_dot(B, p, p), qq = column_dot(B, q, q), off = column_dot(B, p, q);
                turned |= off * off > STRAIGHT * STRAIGHT * (pp * qq);
                jacobi(pp, qq, off, &c, &t);
                c = choose(turning, c, one), t = choose(turning, t, zero);
                rotate_columns(B, p, q, c, t);
                rotate_columns(V, p, q, c, t);
            }
        turning &= turned;
    }
    lanes size[3];
    for (int k = 0; k < 3; k++) size[k] = column_dot(B, k, k);
    static const int order[3][2] = {{0, 1}, {0, 2}, {1, 2}};
    for (int k = 0; k < 3; k++) {
        int p = order[k][0], q = order[k][1];
        mask swap = size[p] < size[q];
        exchange(B, p, q, swap);
        exchange(V, p, q, swap);
        lanes x = size[p];
        size[p] = choose(swap, size[q], x), size[q] = choose(swap, x, size[q]);
    }
    s[0] = root(size[0]), s[1] = root(size[1]);
    lanes u[3], w[3], dot = zero, length = zero;
    for (int i = 0; i < 3; i++) u[i] = choose(s[0] > 0.0, B[3 * i] / s[0], i == 0 ? one : zero);
    /* A second direction from B, or any one across the first where B has none. */
    mask flat = s[1] <= 1e-14 * s[0];
    for (int i = 0; i < 3; i++) {
        lanes spare = choose(magnitude(u[0]) < 0.6, i == 0 ? one : zero, i == 1 ? one : zero);
        w[i] = choose(flat, spare, B[3 * i + 1] / choose(flat, one, s[1]));
        dot += w[i] * u[i];
    }
    for (int i = 0; i < 3; i++) w[i] -= dot * u[i], length += w[i] * w[i];
    length = root(length);
    for (int i = 0; i < 3; i++) U[3 * i] = u[i], U[3 * i + 1] = w[i] / length;
    for (int i = 0; i < 3; i++) {
        int j = 3 * ((i + 1) % 3), k = 3 * ((i + 2) % 3);
        U[3 * i + 2] = U[j] * U[k + 1] - U[k] * U[j + 1];
    }
    s[2] = B[2] * U[2] + B[5] * U[5] + B[8] * U[8];
}

/* R = U V', the proper rotation nearest to the matrix that these are the singular vectors of. */
SU_INLINE void rotation_of(const lanes U[9], const lanes V[9], lanes R[9])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            R[3 * i + j] = U[3 * i] * V[3 * j] + U[3 * i + 1] * V[3 * j + 1] + U[3 * i + 2] * V[3 * j + 2];
}

#endif
