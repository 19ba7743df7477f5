#include "reduce/training_plan.h"

#include <stddef.h>

/* One field: what it is with one basis for all poses and with a basis a pose, and why. Where it depends on the case,
 * the values are factors that su_training_plan_make() puts in. */
typedef struct row {
    const char *name;
    size_t offset;
    bool whole; /* int64_t, else double */
    double one, poses;
    const char *unit, *reason, *origin;
} row;

#define COUNT(field) #field, offsetof(su_training_plan, field), true
#define NUMBER(field) #field, offsetof(su_training_plan, field), false
#define UNUSED 0

static const row table[] = {
    /* modes */
    {NUMBER(linear_share), 1.0 / 6, 1.0 / 3, "of the modes",
     "lowest linear modes of the neutral pose: small swings are theirs; a basis of folds alone locks them. One basis "
     "that weighs energy keeps most of them anyway",
     "notes/2026-11-basis.md, linear modes; notes/2026-11-27-balance.md"},
    {NUMBER(least_motion), 0.1, UNUSED, "of the median frame's norm",
     "added to each frame's norm before frames are divided by it: errors count relative to a frame's own motion, but "
     "not those of next to none",
     "notes/2026-11-basis.md, one basis from motion; the share itself is chosen"},
    {NUMBER(shortest_direction), 1e-6, UNUSED, "of the longest frame",
     "principal directions below are rounding: their squares in the Gram matrix drown in 1e-16 of the largest",
     "rounding of double precision with a margin"},
    {COUNT(balance_rounds), 4, UNUSED, "rounds; 0: none",
     "of the fixed point that balances displacement and energy left out of the motion: by then kappa has 1 % of its "
     "last value",
     "notes/2026-11-27-balance.md"},
    /* shots played */
    {COUNT(longest_stretch), 75, UNUSED, "frames",
     "played on end, 2.5 s at 30 Hz: long shots are cut so that threads can share them", "chosen"},
    {COUNT(run_in_frames), 10, UNUSED, "frames",
     "played before the first that counts: a third of a second to swing into", "chosen"},
    {COUNT(played_substeps), 2, UNUSED, "steps a frame",
     "coarse steps show shapes in true proportion; one makes Stop 6.1 % off, two 4.7",
     "notes/2026-11-basis.md, softer flesh"},
    {COUNT(shape_solves), 1, UNUSED, "solves a step", "for shapes twice the steps are worth more than a second solve",
     "notes/2026-11-basis.md, shots in bases a pose"},
    {COUNT(exact_solves), 6, UNUSED, "solves a step, at most",
     "of stretches that a model is held against, to a thousandth of the forces: after two a bending beam is still 5 % "
     "elsewhere, which no model can follow",
     "notes/2026-11-29-judged-motion.md"},
    {COUNT(exact_every), 4, UNUSED, "stretches of a motion",
     "one in so many is solved exactly: enough to judge a model by, and not twice the time for all", "chosen"},
    {COUNT(soft_every), 4, UNUSED, "stretches of a motion",
     "one in so many has soft flesh: it moves as far as fiercer shots would move it, but costs the others",
     "notes/2026-11-basis.md, softer flesh"},
    {NUMBER(soft_stiffness), 0.4, UNUSED, "of Young's modulus",
     "of soft flesh: Stop 6.5 % without, 4.1 with 0.3, fox Run 7.5 and 8.4", "notes/2026-11-basis.md, softer flesh"},
    /* places and states */
    {COUNT(frames), 0, 12, "frames of the shots", "places that tets are trained at between the poses",
     "notes/2026-11-anchors.md, errors of cubature"},
    {COUNT(vertex_frame_factor), UNUSED, 2, "times frames",
     "places for vertices between the poses, with up to 60 modes three times: inertia differs more from frame to frame "
     "than forces do, and its rows cost less",
     "notes/2026-11-anchors.md, errors of cubature"},
    {COUNT(states), 48, UNUSED, "frames of motion", "places that one basis is trained at, two states at each",
     "chosen"},
    {COUNT(state_sizes), 4, UNUSED, "sizes",
     "in equal ratio from a state's own to state_reach: unseen shots go farther", "chosen"},
    {NUMBER(state_reach), 0.12, UNUSED, "of the flesh's diagonal",
     "how far the farthest vertex of an enlarged state moves", "chosen"},
    {COUNT(samples), UNUSED, 4000, "rows a pose",
     "random states at each pose, rows over r, at least 36 and at most 100: as many equations whatever r",
     "chosen; fewer where memory is short"},
    {COUNT(least_samples), UNUSED, 12, "samples a pose", "however short memory is", "chosen"},
    {COUNT(least_between), UNUSED, 6, "samples a place", "between poses, however short memory is", "chosen"},
    {NUMBER(between_share), UNUSED, 1.0 / 3, "of a pose's samples", "at places between, which share the poses' weights",
     "chosen"},
    {NUMBER(amplitude), 0.05, 0.05, "of the flesh's diagonal", "largest vertex motion of random states, rms",
     "PSSD section 5.3; formats.md convention 13"},
    {COUNT(mixed_sizes), UNUSED, 1, "1: yes",
     "a quarter of random states half as large, a quarter 1.4 times: small ones are about high modes, large ones are "
     "not linear",
     "notes/2026-11-23-training.md"},
    {COUNT(soft_modes), UNUSED, 12, "modes",
     "lowest eigenvectors trained one by one: a resonance answers an error many times",
     "notes/2026-11-anchors.md: Stop 6.7 to 3.5 %"},
    {NUMBER(soft_weight), UNUSED, 4, "times", "by which rows of these count more", "notes/2026-11-anchors.md"},
    /* the sets */
    {COUNT(tets), 3, 0, "tets a mode; 0: by error", "two a mode scatter, four gain little",
     "notes/2026-11-anchors.md, how many tets"},
    {COUNT(least_candidates), 1000, 1000, "tets", "to choose from, however short memory is", "chosen"},
    {COUNT(vertices), 3, 0, "vertices a mode; 0: by error", "as many as tets", "chosen"},
    {COUNT(most_vertices), 24000, 24000, "vertices",
     "candidates, at random where there are more: rows take 12 bytes each", "chosen for memory"},
    {NUMBER(error), 0.0125, 0.0125, "rms of the force", "where no count is given; PSSD has 2 %, which motion shows",
     "notes/2026-11-anchors.md, errors of cubature"},
    {NUMBER(vertex_share), 0.5, UNUSED, "of the norm of displacements",
     "by vertex, the rest by mass: by mass alone tips of a tet each swing by half of the motion unseen",
     "notes/2026-11-28-strangers-3.md"},
    {NUMBER(linear_aim), 0.95, UNUSED, "of the linear force",
     "what tets aim at, D has the rest: aiming at all they have too much in half of all directions",
     "notes/2026-11-basis.md, tets and D"},
    {NUMBER(most_taken), 0.2, UNUSED, "of the linear stiffness",
     "what D may take off where tets have too much; small enough for their own energy to outweigh it",
     "notes/2026-11-basis.md, tets and D"},
    {NUMBER(linear_prior), 0.1, UNUSED, "of what the states say of a direction on average",
     "weight of the flesh's own stiffness at rest in the fit of D to forces in motion: directions that the motion "
     "hardly has keep it; 1 gives half of the gain, 0.01 no more of it, and known shots a little less",
     "notes/2026-11-24-linear-fit.md"},
    {COUNT(pose_histories), UNUSED, 6, "histories", "at poses and between, where only the root turns", "chosen"},
    {COUNT(frame_histories), 2, 2, "histories", "at frames: many frames with few are better than few with many",
     "notes/2026-11-anchors.md, errors of cubature"},
    {NUMBER(least_field), 0.05, 0.05, "of an acceleration's mass norm",
     "that its reduced force counts as, at least: of what is nearly orthogonal to the basis no relative accuracy is "
     "asked",
     "notes/2026-11-23-training.md"},
    {NUMBER(least_turn), 0.1, 0.1, "of the largest turn",
     "that a turn counts as, at least: where the character stands nothing turns", "notes/2026-11-23-training.md"},
    {NUMBER(default_spin), 0.1, 0.1, "rad a substep", "turn of the root without shots: 1.4 turns a second at 90 Hz",
     "chosen: a fast spin"},
    {NUMBER(least_spin), 0.1 * 0.1, 0.1 * 0.1, "rad a substep",
     "with shots: one whose root stands still says nothing of the next take", "a tenth of default_spin"},
    /* in motion */
    {NUMBER(motion_bound), 0.03, UNUSED, "of the motion",
     "a model farther off its own motion than a bake may be (--bound) gets more tets",
     "notes/2026-11-29-judged-motion.md"},
    {NUMBER(motion_warning), 0.1, UNUSED, "of the motion", "one that stays farther off is warned of", "chosen"},
    {NUMBER(tet_growth), 1.5, UNUSED, "times", "as many tets", "chosen"},
    {NUMBER(worth), 0.9, UNUSED, "of the error", "more tets go on being added while they bring it below this",
     "chosen"},
    {COUNT(retrainings), 2, UNUSED, "times", "tets are added at most", "chosen: 2.25 times the tets"},
};

enum { ROWS = sizeof table / sizeof *table };
/* All fields have eight bytes: none can be left out of the table. */
_Static_assert(ROWS * sizeof(double) == sizeof(su_training_plan), "a row for each field of su_training_plan");

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

su_training_plan su_training_plan_make(const su_training_case *of)
{
    enum { FEWEST = 36, MOST = 100 }; /* samples a pose */
    enum { FEW_MODES = 60 };
    su_training_plan plan;
    for (int k = 0; k < ROWS; k++) {
        double value = of->one_basis ? table[k].one : table[k].poses;
        if (table[k].whole)
            *(int64_t *)((char *)&plan + table[k].offset) = (int64_t)value;
        else
            *(double *)((char *)&plan + table[k].offset) = value;
    }
    int64_t modes = of->modes > 0 ? of->modes : 1;
    plan.samples = clamp(plan.samples / modes, FEWEST, MOST);
    plan.vertex_frame_factor += modes <= FEW_MODES;
    plan.tets *= of->region_modes;
    plan.vertices *= modes;
    return plan;
}

json_t *su_training_plan_json(const su_training_plan *plan)
{
    json_t *out = json_object();
    for (int k = 0; k < ROWS && out; k++) {
        const char *at = (const char *)plan + table[k].offset;
        json_t *value = table[k].whole ? json_integer(*(const int64_t *)at) : json_real(*(const double *)at);
        json_t *field = json_pack("{s:o, s:s, s:s, s:s}", "value", value, "unit", table[k].unit, "reason",
                                  table[k].reason, "origin", table[k].origin);
        if (json_object_set_new(out, table[k].name, field) != 0) json_decref(out), out = NULL;
    }
    return out;
}
