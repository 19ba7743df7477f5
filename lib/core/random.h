/* Reproducible random numbers: xoshiro256** (Blackman and Vigna 2018), seeded by splitmix64. Inline, state by value. */
#ifndef SU_CORE_RANDOM_H
#define SU_CORE_RANDOM_H

#include <math.h>
#include <stdint.h>

typedef struct su_random {
    uint64_t state[4];
} su_random;

/* Streams of different numbers are independent for all practical purposes. */
static inline su_random su_random_seed(uint64_t seed, uint64_t stream)
{
    su_random random;
    uint64_t x = seed * 0x9e3779b97f4a7c15u + stream * 0xd1b54a32d192ed03u + 0x2545f4914f6cdd1du;
    for (int i = 0; i < 4; i++) {
        uint64_t z = x += 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        random.state[i] = z ^ (z >> 31);
    }
    return random;
}

static inline uint64_t su_random_bits(su_random *random)
{
    uint64_t *s = random->state, five = s[1] * 5, result = ((five << 7) | (five >> 57)) * 9, t = s[1] << 17;
    s[2] ^= s[0], s[3] ^= s[1], s[1] ^= s[2], s[0] ^= s[3];
    s[2] ^= t, s[3] = (s[3] << 45) | (s[3] >> 19);
    return result;
}

/* [0, 1) */
static inline double su_random_uniform(su_random *random) { return (double)(su_random_bits(random) >> 11) * 0x1p-53; }

/* Standard normal (Box and Muller). */
static inline double su_random_normal(su_random *random)
{
    double u = 1 - su_random_uniform(random), v = su_random_uniform(random);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

#endif
