#include "core/progress.h"

#include <math.h>
#include <string.h>

enum { BAR_WIDTH = 30 };

void su_progress_stage(su_progress *progress, double from, double to)
{
    if (!progress) return;
    progress->base = from;
    progress->span = to - from;
}

static void draw(const su_progress *progress, int percent)
{
    char bar[BAR_WIDTH + 1];
    int filled = percent * BAR_WIDTH / 100;
    memset(bar, '.', BAR_WIDTH);
    memset(bar, '#', (size_t)filled);
    bar[BAR_WIDTH] = '\0';
    switch (progress->mode) {
    case SU_PROGRESS_NONE:
        return;
    case SU_PROGRESS_TTY:
        fprintf(progress->stream, "\r%s [%s] %3d%%", progress->label ? progress->label : "", bar, percent);
        break;
    case SU_PROGRESS_LINES:
        fprintf(progress->stream, "Progress: %d%%\n", percent);
        break;
    case SU_PROGRESS_ALF:
        fprintf(progress->stream, "ALF_PROGRESS %d%%\n", percent);
        break;
    case SU_PROGRESS_OPENJD:
        fprintf(progress->stream, "openjd_progress: %d\n", percent);
        break;
    }
    fflush(progress->stream);
}

su_status su_progress_update(su_progress *progress, double fraction, su_error *err)
{
    if (!progress) return SU_OK;
    if (su_progress_stopped(progress)) return su_fail(err, SU_AGAIN, "stopped by a signal before it was done");
    if (progress->mode == SU_PROGRESS_NONE || !progress->stream) return SU_OK;

    /* A zeroed struct covers the whole range. */
    double span = progress->base == 0 && progress->span == 0 ? 1 : progress->span;
    double whole = 100 * (progress->base + span * fmin(fmax(fraction, 0), 1));
    int percent = (int)fmin(fmax(floor(whole + 1e-9), 0), 100);
    if (percent > progress->last) {
        progress->last = percent;
        draw(progress, percent);
    }
    return SU_OK;
}

int su_progress_stopped(const su_progress *progress) { return progress && progress->stop && *progress->stop; }

void su_progress_finish(su_progress *progress)
{
    if (!progress || !progress->stream || progress->last < 0) return;
    if (progress->mode == SU_PROGRESS_TTY) {
        fputc('\n', progress->stream);
        fflush(progress->stream);
    }
    progress->last = -1;
}
