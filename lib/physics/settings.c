#include "physics/settings.h"

#include "core/choice.h"
#include "core/memory.h"
#include "core/order.h"
#include "geometry/mat3.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const double USUAL_RATE = 90.0; /* steps a second, PSSD section 9 */
/* Steps by which a frame may be longer than whole steps without one more: times of frames are good to 1e-6 s
 * (su_check_times), and 30 frames a second of rounded times are still 3 steps each. */
static const double RATE_TOLERANCE = 1e-4;

#define STANDARD_GRAVITY 9.81 /* m/s^2 */
#define USUAL_DAMPING 0.1     /* ratio at the lowest frequency (docs/design.md, section 4) */
/* What fits into an int with room; a frame of hours, a pre-roll of days. */
#define MOST_SUBSTEPS 1e6
#define MOST_PREROLL 1e8
/* Steps: a pre-roll of whole steps is not one longer for its division. */
#define ROUNDING 1e-9

su_sim_settings su_sim_defaults(void)
{
    return (su_sim_settings){.gravity = {0.0, -STANDARD_GRAVITY, 0.0},
                             .gravity_mode = SU_GRAVITY_RELATIVE,
                             .damping = USUAL_DAMPING,
                             .beta = -1.0,
                             .stiffness = 1.0,
                             .start = SU_START_MOVING};
}

void su_sim_settings_free(su_sim_settings *settings)
{
    free(settings->teleports);
    settings->teleports = NULL;
    settings->teleport_count = 0;
}

/* ---- teleports ---- */

static su_status add_teleport(su_sim_settings *settings, int32_t frame, su_error *err)
{
    int32_t *grown = realloc(settings->teleports, (size_t)(settings->teleport_count + 1) * sizeof *grown);
    if (!grown) return su_fail(err, SU_AGAIN, "no memory for the teleports");
    grown[settings->teleport_count++] = frame;
    settings->teleports = grown;
    return SU_OK;
}

su_status su_sim_set_teleports(su_sim_settings *settings, int count, const char *const *texts, su_error *err)
{
    for (int i = 0; i < count; i++)
        for (const char *at = texts[i];;) {
            char *end;
            errno = 0;
            long frame = strtol(at, &end, 10);
            if (end == at || errno || frame < 1 || frame > 1 << 30 || (*end && *end != ','))
                return su_fail(err, SU_USAGE, "--teleport %s: expected frame numbers above 0 (the first frame is 0)",
                               texts[i]);
            SU_TRY(add_teleport(settings, (int32_t)frame, err));
            if (!*end) break;
            at = end + 1;
        }
    if (settings->teleport_count == 0) return SU_OK;
    su_sort(settings->teleports, (size_t)settings->teleport_count, sizeof *settings->teleports, su_order_int32);
    int kept = 1;
    for (int i = 1; i < settings->teleport_count; i++)
        if (settings->teleports[i] != settings->teleports[kept - 1])
            settings->teleports[kept++] = settings->teleports[i];
    settings->teleport_count = kept;
    return SU_OK;
}

/* ---- what depends on the character and the shot ---- */

double su_sim_frame_seconds(int64_t F, const double *times, double fps)
{
    return F > 1 ? (times[F - 1] - times[0]) / (double)(F - 1) : 1.0 / fps;
}

int su_sim_substeps(double frame_seconds)
{
    return (int)fmin(MOST_SUBSTEPS, fmax(1.0, ceil(USUAL_RATE * frame_seconds - RATE_TOLERANCE)));
}

double su_sim_beta(const su_sim_settings *settings, double frequency, double h)
{
    /* Rayleigh: zeta = beta omega / 2; an amplitude falls as exp(-zeta omega t). */
    double omega = 2.0 * M_PI * frequency * sqrt(settings->stiffness);
    double ratio = settings->decay > 0.0 ? 1.0 / (settings->decay * omega) : settings->damping;
    return fmax(2.0 * ratio / omega + 1.0 / USUAL_RATE - h, 0.0);
}

su_status su_sim_settings_resolve(su_sim_settings *settings, double frequency, int64_t F, const double *times,
                                  double fps, su_error *err)
{
    double seconds = su_sim_frame_seconds(F, times, fps);
    if (!(seconds > 0.0) || !(seconds < INFINITY))
        return su_fail(err, SU_INPUT, "frames must be a positive time apart, these are %g s", seconds);
    if (!(frequency > 0.0) && settings->beta < 0.0)
        return su_fail(err, SU_INPUT, "the lowest frequency of the character is not known: give --beta");
    if (settings->substeps <= 0) settings->substeps = su_sim_substeps(seconds);
    settings->first_time = F > 0 ? times[0] : 0.0;
    settings->frame_seconds = seconds;
    settings->step = seconds / settings->substeps;
    if (settings->beta < 0.0) settings->beta = su_sim_beta(settings, frequency, settings->step);
    settings->preroll_steps = (int)fmin(MOST_PREROLL, ceil(settings->preroll / settings->step - ROUNDING));
    return SU_OK;
}

su_gravity su_sim_gravity(const su_sim_settings *settings, const double Q[9])
{
    su_gravity gravity = {{0}, {0}};
    if (settings->gravity_mode == SU_GRAVITY_NONE) return gravity;
    su_tmulv3(Q, settings->gravity, gravity.acts);
    if (settings->gravity_mode == SU_GRAVITY_RELATIVE)
        memcpy(gravity.carried, settings->gravity, sizeof gravity.carried);
    return gravity;
}

su_status su_sim_gravity_meta(const su_sim_settings *settings, json_t *meta, su_error *err)
{
    json_t *gravity = json_array();
    int bad = !gravity;
    for (int c = 0; c < 3 && !bad; c++) bad |= json_array_append_new(gravity, json_real(settings->gravity[c]));
    bad |= json_object_set_new(meta, "gravity", gravity);
    bad |= json_object_set_new(meta, "gravity_mode", su_choice_json(SU_GRAVITY_NAMES, settings->gravity_mode));
    return bad ? su_fail(err, SU_AGAIN, "no memory for the settings") : SU_OK;
}

void su_sim_read_gravity(const json_t *meta, su_sim_settings *settings)
{
    const json_t *gravity = json_object_get(meta, "gravity");
    const char *mode = json_string_value(json_object_get(meta, "gravity_mode"));
    for (size_t c = 0; c < 3 && json_array_size(gravity) == 3; c++)
        settings->gravity[c] = json_number_value(json_array_get(gravity, c));
    settings->gravity_mode = su_choice_find(SU_GRAVITY_NAMES, mode, settings->gravity_mode);
}

su_status su_sim_settings_meta(const su_sim_settings *settings, json_t *meta, su_error *err)
{
    SU_TRY(su_sim_gravity_meta(settings, meta, err));
    json_t *teleports = json_array();
    int bad = !teleports;
    for (int i = 0; i < settings->teleport_count && !bad; i++)
        bad |= json_array_append_new(teleports, json_integer(settings->teleports[i]));
    bad |= json_object_set_new(meta, "teleports", teleports);
    bad |= json_object_set_new(meta, "alpha", json_real(settings->alpha));
    bad |= json_object_set_new(meta, "beta", json_real(settings->beta));
    bad |= json_object_set_new(meta, "substeps", json_integer(settings->substeps));
    bad |= json_object_set_new(meta, "start", su_choice_json(SU_START_NAMES, settings->start));
    bad |= json_object_set_new(meta, "settle", json_boolean(settings->settle));
    bad |= json_object_set_new(meta, "preroll", json_real(settings->preroll));
    bad |= json_object_set_new(meta, "stiffness", json_real(settings->stiffness));
    return bad ? su_fail(err, SU_AGAIN, "no memory for the settings") : SU_OK;
}
