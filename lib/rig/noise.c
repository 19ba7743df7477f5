#include "rig/noise.h"

#include <math.h>

void su_noise_make(su_random *random, double low, double high, su_noise *noise)
{
    for (int i = 0; i < SU_NOISE_TONES; i++) {
        double share =
            ((double)i + su_random_uniform(random)) / SU_NOISE_TONES; /* stratified: every part of the band sounds */
        noise->frequency[i] = 2.0 * M_PI * (low + share * (high - low));
        noise->phase[i] = 2.0 * M_PI * su_random_uniform(random);
    }
}

double su_noise_value(const su_noise *noise, double time)
{
    double sum = 0.0;
    for (int i = 0; i < SU_NOISE_TONES; i++) sum += cos(noise->frequency[i] * time + noise->phase[i]);
    return sum * sqrt(2.0 / SU_NOISE_TONES);
}

double su_noise_integrated_twice(const su_noise *noise, double time)
{
    double sum = 0.0;
    for (int i = 0; i < SU_NOISE_TONES; i++) {
        double w = noise->frequency[i];
        sum -= cos(w * time + noise->phase[i]) / (w * w);
    }
    return sum * sqrt(2.0 / SU_NOISE_TONES);
}
