#include "core/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

su_status su_fail(su_error *err, su_status status, const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
        err->status = status;
    }
    return status;
}

su_status su_error_context(su_error *err, const char *format, ...)
{
    if (!err) return SU_FAILED;
    char text[sizeof err->text];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (length < 0) return err->status;
    if ((size_t)length < sizeof text) {
        size_t room = sizeof text - (size_t)length - 1, old = strlen(err->text);
        if (old > room) old = room;
        memcpy(text + length, err->text, old);
        text[(size_t)length + old] = '\0';
    }
    memcpy(err->text, text, sizeof text);
    return err->status;
}

void su_keep_first_error(su_status *first, su_error *err, su_status status, const su_error *own)
{
    if (status == SU_OK || *first != SU_OK) return;
    *first = status;
    if (err) *err = *own;
}
