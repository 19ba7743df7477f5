/* The laws themselves, written once for every kind of number: a double, or a vector whose lanes are as many tets.
 * Before each inclusion stands physics/material.h, and these are defined:
 * - LAW_REAL: the number
 * - LAW(name): a function's name for it
 * - LAW_LARGER(a, b): the larger of two of them
 * - LAW_X_LESS_LOG1P(x), where energies are wanted: x - log(1 + x)
 * - UNROLL_FOR, optional: a loop over entries, unrolled
 *
 * Arguments by address, for how vectors are passed by value depends on the processor. `material` is a constant in each
 * call, so that branches fold. mu and lambda are the law's own parameters, of LAW(parameters). 3x3 matrices are
 * row-major. */
#ifndef UNROLL_FOR
#define UNROLL_FOR(...) for (__VA_ARGS__)
#endif
#define LAW_INLINE static inline __attribute__((always_inline))

/* Whether the law is that of Smith et al., alone or with a term added to it. */
LAW_INLINE bool LAW(smith)(su_material material) { return material == SU_NEOHOOKEAN || material == SU_TISSUE; }

/* Lame's parameters become the law's own. */
LAW_INLINE void LAW(parameters)(su_material material, LAW_REAL *mu, LAW_REAL *lambda)
{
    if (LAW(smith)(material)) *lambda += SU_SMITH_LAMBDA * *mu, *mu *= SU_SMITH_MU;
}

/* C = d det F / d F */
LAW_INLINE void LAW(cofactors)(const LAW_REAL F[9], LAW_REAL C[9])
{
    C[0] = F[4] * F[8] - F[5] * F[7], C[1] = F[5] * F[6] - F[3] * F[8], C[2] = F[3] * F[7] - F[4] * F[6];
    C[3] = F[2] * F[7] - F[1] * F[8], C[4] = F[0] * F[8] - F[2] * F[6], C[5] = F[1] * F[6] - F[0] * F[7];
    C[6] = F[1] * F[5] - F[2] * F[4], C[7] = F[2] * F[3] - F[0] * F[5], C[8] = F[0] * F[4] - F[1] * F[3];
}

/* det F - 1 = tr G + second + third of G = F - I, without the cancellation. */
LAW_INLINE void LAW(volume_change)(const LAW_REAL G[9], LAW_REAL *second, LAW_REAL *third)
{
    *second = G[0] * G[4] - G[1] * G[3] + G[0] * G[8] - G[2] * G[6] + G[4] * G[8] - G[5] * G[7];
    *third =
        G[0] * (G[4] * G[8] - G[5] * G[7]) - G[1] * (G[3] * G[8] - G[5] * G[6]) + G[2] * (G[3] * G[7] - G[4] * G[6]);
}

/* Green's strain E = (G + G' + G'G)/2 = (F'F - I)/2 of G = F - I, without the cancellation. */
LAW_INLINE void LAW(green_strain)(const LAW_REAL G[9], LAW_REAL E[9])
{
    UNROLL_FOR (int a = 0; a < 3; a++)
        UNROLL_FOR (int b = 0; b < 3; b++)
            E[3 * a + b] =
                0.5 * (G[a] * G[b] + G[3 + a] * G[3 + b] + G[6 + a] * G[6 + b] + G[3 * a + b] + G[3 * b + a]);
}

/* Stable neo-Hookean: P = c F + pressure C with c = mu (1 - 1/(I_C + 1)), C the cofactors, pressure = lambda (J -
 * alpha), and dP/dF = c 1 + d F F' + lambda C C' + pressure dC/dF, d = 2 mu/(I_C + 1)^2. square = I_C, j = J - 1.
 * SU_TISSUE adds s/2 q (F - C), s = 2 kappa mu of Lame's mu, q = I_C - 2 J - 1, to P, which goes into c and pressure,
 * and with that s (F - C)(F - C)' to the derivative: s is LAW(stiffening). */
LAW_INLINE LAW_REAL LAW(stiffening)(const LAW_REAL *mu) { return 2.0 * SU_TISSUE_STIFFENING / SU_SMITH_MU * *mu; }

LAW_INLINE void LAW(neohookean)(su_material material, const LAW_REAL *mu, const LAW_REAL *lambda,
                                const LAW_REAL *square, const LAW_REAL *j, LAW_REAL *c, LAW_REAL *d, LAW_REAL *pressure)
{
    LAW_REAL inverse = 1.0 / (*square + 1.0);
    *c = *mu * (1.0 - inverse), *d = 2.0 * *mu * inverse * inverse;
    *pressure = *lambda * *j - SU_SMITH_REST * *mu;
    if (material == SU_TISSUE) {
        LAW_REAL half = 0.5 * LAW(stiffening)(mu) * (*square - 2.0 * *j - 3.0);
        *c += half, *pressure -= half;
    }
}

/* The second Piola-Kirchhoff stress of StVK, from Green's strain in place. */
LAW_INLINE void LAW(stvk)(const LAW_REAL *mu, const LAW_REAL *lambda, LAW_REAL E[9])
{
    LAW_REAL pressure = *lambda * (E[0] + E[4] + E[8]), twice = 2.0 * *mu;
    UNROLL_FOR (int k = 0; k < 9; k++) E[k] *= twice;
    UNROLL_FOR (int k = 0; k < 3; k++) E[4 * k] += pressure;
}

#ifdef LAW_X_LESS_LOG1P
/* psi of F = G + I, of SU_COROTATIONAL at the singular values s of F. Stable neo-Hookean is Smith et al. 2018, eq.
 * 13-14 with the log term: psi = mu/2 (I_C - 3) + lambda/2 (J - alpha)^2 - mu/2 log(I_C + 1), alpha = 1 + 3/4
 * mu/lambda, less its value at F = I; the terms linear in G, which cancel, are left out on paper. */
LAW_INLINE void LAW(energy)(su_material material, const LAW_REAL *mu, const LAW_REAL *lambda, const LAW_REAL G[9],
                            const LAW_REAL s[3], LAW_REAL *energy)
{
    LAW_REAL square = G[0] * G[0], second, third, trace = G[0] + G[4] + G[8];
    UNROLL_FOR (int k = 1; k < 9; k++) square += G[k] * G[k];
    if (LAW(smith)(material)) {
        LAW(volume_change)(G, &second, &third);
        LAW_REAL j = trace + second + third;              /* J - 1 */
        LAW_REAL quarter = 0.25 * (2.0 * trace + square); /* (I_C - 3)/4 */
        *energy =
            *mu * (0.5 * SU_SMITH_REST * square - SU_SMITH_REST * (second + third) + 0.5 * LAW_X_LESS_LOG1P(quarter)) +
            0.5 * *lambda * j * j;
        if (material == SU_TISSUE) {
            LAW_REAL q = square - 2.0 * (second + third); /* I_C - 2 J - 1 */
            *energy += 0.125 * LAW(stiffening)(mu) * q * q;
        }
    } else if (material == SU_STVK) {
        LAW_REAL E[9];
        LAW(green_strain)(G, E);
        square = E[0] * E[0], trace = E[0] + E[4] + E[8];
        UNROLL_FOR (int k = 1; k < 9; k++) square += E[k] * E[k];
        *energy = *mu * square + 0.5 * *lambda * trace * trace;
    } else {
        LAW_REAL a = s[0] - 1.0, b = s[1] - 1.0, c = s[2] - 1.0, t = a + b + c;
        *energy = *mu * (a * a + b * b + c * c) + 0.5 * *lambda * t * t;
    }
}
#endif

/* P of F = G + I, exact zero at G = 0 (of neo-Hookean's); not of SU_COROTATIONAL, whose stress needs the rotation or
 * the singular vectors. c, d, pressure: of LAW(neohookean), for the derivative to come. */
LAW_INLINE void LAW(stress)(su_material material, const LAW_REAL *mu, const LAW_REAL *lambda, const LAW_REAL F[9],
                            const LAW_REAL G[9], LAW_REAL P[9], LAW_REAL *c, LAW_REAL *d, LAW_REAL *pressure)
{
    if (LAW(smith)(material)) {
        LAW_REAL C[9], second, third, j, square = F[0] * F[0];
        LAW(cofactors)(F, C);
        UNROLL_FOR (int k = 1; k < 9; k++) square += F[k] * F[k];
        LAW(volume_change)(G, &second, &third);
        j = G[0] + G[4] + G[8] + second + third;
        LAW(neohookean)(material, mu, lambda, &square, &j, c, d, pressure);
        UNROLL_FOR (int k = 0; k < 9; k++) P[k] = *c * F[k] + *pressure * C[k];
    } else {
        LAW_REAL S[9];
        LAW(green_strain)(G, S);
        LAW(stvk)(mu, lambda, S);
        UNROLL_FOR (int a = 0; a < 3; a++)
            UNROLL_FOR (int b = 0; b < 3; b++)
                P[3 * a + b] = F[3 * a] * S[b] + F[3 * a + 1] * S[3 + b] + F[3 * a + 2] * S[6 + b];
    }
}

/* Spectrum of dP/dF at singular values s (isotropic_derivative in material.c): the 3 x 3 block A of second derivatives
 * of psi by them, and for the pair without index k the twist (psi_i + psi_j)/(s_i + s_j) and the flip (psi_i -
 * psi_j)/(s_i - s_j), divided out. */
LAW_INLINE void LAW(spectrum)(su_material material, const LAW_REAL *mu_of, const LAW_REAL *lambda_of,
                              const LAW_REAL s[3], LAW_REAL A[9], LAW_REAL twist[3], LAW_REAL flip[3])
{
    LAW_REAL mu = *mu_of, lambda = *lambda_of, square = s[0] * s[0] + s[1] * s[1] + s[2] * s[2];
    LAW_REAL trace = 0.5 * (square - 3.0), stretch = s[0] + s[1] + s[2] - 3.0, j = s[0] * s[1] * s[2] - 1.0;
    LAW_REAL c, d, pressure, slope[3], stiffening = LAW(stiffening)(&mu);
    LAW(neohookean)(material, &mu, &lambda, &square, &j, &c, &d, &pressure);
    UNROLL_FOR (int k = 0; k < 3; k++) slope[k] = s[k] - s[(k + 1) % 3] * s[(k + 2) % 3]; /* (F - C), turned */
    UNROLL_FOR (int k = 0; k < 3; k++) {
        int a = (k + 1) % 3, b = (k + 2) % 3;
        LAW_REAL off = lambda; /* of corotational, as what follows */
        switch (material) {
        case SU_STVK:
            twist[k] = mu * (s[a] * s[a] - s[a] * s[b] + s[b] * s[b] - 1.0) + lambda * trace;
            flip[k] = mu * (s[a] * s[a] + s[a] * s[b] + s[b] * s[b] - 1.0) + lambda * trace;
            A[4 * k] = mu * (3.0 * s[k] * s[k] - 1.0) + lambda * (trace + s[k] * s[k]);
            off = lambda * s[a] * s[b];
            break;
        case SU_NEOHOOKEAN:
        case SU_TISSUE:
            twist[k] = c + pressure * s[k];
            flip[k] = c - pressure * s[k];
            A[4 * k] = c + d * s[k] * s[k] + lambda * s[a] * s[a] * s[b] * s[b];
            off = d * s[a] * s[b] + lambda * s[k] * s[k] * s[a] * s[b] + pressure * s[k];
            if (material == SU_TISSUE)
                A[4 * k] += stiffening * slope[k] * slope[k], off += stiffening * slope[a] * slope[b];
            break;
        case SU_COROTATIONAL:
            twist[k] = 2.0 * mu + (2.0 * lambda * stretch - 4.0 * mu) / LAW_LARGER(s[a] + s[b], SU_LEAST_STRETCH);
            flip[k] = 2.0 * mu;
            A[4 * k] = 2.0 * mu + lambda;
        }
        A[3 * a + b] = A[3 * b + a] = off;
    }
}

#undef LAW_INLINE
