/* Smooth noise in a band of frequencies: a sum of sinusoids, so that it has any derivative and can be integrated
 * exactly. */
#ifndef SU_RIG_NOISE_H
#define SU_RIG_NOISE_H

#include "core/random.h"

/* Sixteen sinusoids are within a few percent of a Gaussian's moments. */
enum { SU_NOISE_TONES = 16 };

typedef struct su_noise {
    double frequency[SU_NOISE_TONES]; /* rad/s, one in each sixteenth of the band */
    double phase[SU_NOISE_TONES];     /* rad */
} su_noise;

/* Noise between low and high (Hz). */
void su_noise_make(su_random *random, double low, double high, su_noise *noise);
/* Its value at a time (s): mean 0, rms 1 over long times. */
double su_noise_value(const su_noise *noise, double time);
/* The function of which it is the second derivative, s^2; it has mean 0 too. */
double su_noise_integrated_twice(const su_noise *noise, double time);

#endif
