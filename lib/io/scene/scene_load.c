#include "io/scene/scene_load.h"

#include "core/file.h"
#include "io/scene/scene_parse.h"
#include "io/scene/scene_stream.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* assimp's words for what fbx6_scene.h does not read either */
static const char OLD_FBX[] = "FBX-DOM unsupported, old format version";

/* ---- the child ---- */

/* What the child sends: one byte, 0 and the scene, 1 and a message, or 2 and a message where memory was missing. It
 * ends with NOT_SENT where the pipe did not take that. */
enum { NOT_SENT = 100, NO_MEMORY = 101, MUCH_MEMORY = 1 << 26 /* bytes */ };

typedef void new_handler(void);
typedef new_handler *set_new_handler(new_handler *);

/* C++ calls this where it has no memory, and then tries again or, without a handler, throws what assimp may catch and
 * go on with half a scene. Where there is much memory after all it was the file that asked for more than there can be.
 */
static void cpp_without_memory(void)
{
    void *spare = malloc(MUCH_MEMORY);
    set_new_handler *set = NULL;
    *(void **)&set = dlsym(RTLD_DEFAULT, "_ZSt15set_new_handlerPFvvE");
    if (!spare || !set) _exit(NO_MEMORY);
    free(spare);
    set(NULL);
}

static void watch_cpp_memory(void)
{
    set_new_handler *set = NULL;
    *(void **)&set = dlsym(RTLD_DEFAULT, "_ZSt15set_new_handlerPFvvE"); /* std::set_new_handler */
    if (set) set(cpp_without_memory);
}

static int parse_in_child(void *context, int fd)
{
    su_scene scene = {0};
    char message[800] = "";
    watch_cpp_memory();
    unsigned char failed = su_scene_parse(context, &scene, message, sizeof message) != 0;
    if (scene.arena.failed) failed = 2;
    if (write(fd, &failed, 1) != 1) return NOT_SENT;
    if (failed) return write(fd, message, strlen(message)) < 0 ? NOT_SENT : 0;
    return su_scene_encode(&scene, fd) ? NOT_SENT : 0;
}

/* ---- loading ---- */

/* assimp's messages may run over lines and end in full stops. */
static void flatten(char *text)
{
    for (char *p = text; *p; p++)
        if ((unsigned char)*p < 32) *p = ' ';
    size_t length = strlen(text);
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '.')) text[--length] = '\0';
}

static su_status readable(const char *path, su_error *err)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return su_fail(err, su_file_status(errno, SU_INPUT), "%s: cannot open: %s", path, strerror(errno));
    int failed = fstat(fd, &st) != 0 || !S_ISREG(st.st_mode);
    close(fd);
    if (failed) return su_fail(err, SU_INPUT, "%s: not a file", path);
    if (st.st_size == 0) return su_fail(err, SU_INPUT, "%s: the file is empty", path);
    return SU_OK;
}

su_status su_scene_load(const char *path, const su_child_limits *limits, su_scene *scene, su_error *err)
{
    const su_child_limits usual = {.seconds = 120.0, .memory_bytes = (int64_t)8 << 30};
    su_child_result result;
    void *data = NULL;
    size_t count = 0;
    su_status status = SU_OK;
    memset(scene, 0, sizeof *scene);
    if (!limits) limits = &usual;
    SU_TRY(readable(path, err));
    SU_GO(su_child_call(parse_in_child, (void *)path, limits, &data, &count, &result, err));
    const char *bytes = data;
    if (result.end == SU_CHILD_STOPPED) {
        status = su_fail(err, SU_AGAIN, "%s: interrupted while reading", path);
    } else if (result.end == SU_CHILD_TIMEOUT) {
        status =
            su_fail(err, SU_AGAIN, "%s: reading took longer than %.0f s; is the file damaged?", path, limits->seconds);
    } else if (su_child_was_killed(&result)) {
        status = su_fail(err, SU_AGAIN, "%s: the parser was killed (signal %d)", path, result.code);
    } else if (result.end == SU_CHILD_KILLED) {
        status = su_fail(err, SU_INPUT, "%s: the parser crashed (signal %d); the file is damaged or of another kind",
                         path, result.code);
    } else if (result.code == NO_MEMORY) {
        status = su_fail(err, SU_AGAIN, "%s: the parser ran out of memory", path);
    } else if (result.code == NOT_SENT) {
        status = su_fail(err, SU_AGAIN, "%s: the parser could not hand over what it read", path);
    } else if (count > 0 && bytes[0]) {
        char text[800];
        snprintf(text, sizeof text, "%.*s", (int)(count - 1 < 790 ? count - 1 : 790), bytes + 1);
        flatten(text);
        if (strstr(text, OLD_FBX))
            status = su_fail(err, SU_INPUT,
                             "%s: an FBX file older than version 6; convert it to a newer one with "
                             "Autodesk's FBX Converter, Maya or MotionBuilder",
                             path);
        else
            status = su_fail(err, bytes[0] == 2 ? SU_AGAIN : SU_INPUT, "%s: cannot read it: %s", path,
                             text[0] ? text : "unknown reason");
    } else if (result.code != 0 || count == 0) {
        status = su_fail(err, SU_INPUT, "%s: the parser gave up (status %d)", path, result.code);
    } else if ((status = su_scene_decode(bytes + 1, count - 1, scene, err)) != SU_OK ||
               (status = su_scene_check(scene, err)) != SU_OK) {
        su_error_context(err, "%s: ", path);
    }
done:
    free(data);
    if (status != SU_OK) su_scene_free(scene);
    return status;
}
