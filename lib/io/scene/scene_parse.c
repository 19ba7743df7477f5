#include "io/scene/scene_parse.h"

#include "io/scene/fbx6_scene.h"
#include "io/scene/fbx6_tree.h"
#include "io/scene/gltf_file.h"
#include "io/scene/gltf_scene.h"
#include "io/scene/scene_assimp.h"
#include "io/scene/usd_skel.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define USD "USD is read as a rig or as meshes that move, of a file that is called .usda, .usdc, .usdz or .usd"
#define HOUDINI "it is a scene of Houdini; export the rig as FBX, glTF or USD, or the shot as Alembic (.abc)"
#define MAYA "it is a scene of Maya; export the rig as FBX with the animation baked, or the shot as Alembic (.abc)"

/* Files that people have and that hold no rigged character that could be read: by the end of the name, or by how they
 * begin. */
static const struct unread {
    const char *ending, *begin, *advice;
} unread[] = {
    {".blend", "BLENDER",
     "it is a scene of Blender; export glTF or FBX from Blender, or run scripts/blender/supple_export.py on it "
     "(docs/import.md)"},
    {".usdc", "PXR-USDC", USD},
    {NULL, "#usda", USD},
    {".usdz", NULL, USD},
    {".ma", "//Maya ASCII", MAYA},
    {".mb", NULL, MAYA},
    {".max", NULL, "it is a scene of 3ds Max; export the rig as FBX with the animation baked"},
    {".hip", NULL, HOUDINI},
    {".hiplc", NULL, HOUDINI},
    {".hipnc", NULL, HOUDINI},
    {".c4d", NULL, "it is a scene of Cinema 4D; export the rig as FBX or glTF, or the shot as Alembic (.abc)"},
};

enum { HEAD = 4096 }; /* bytes; FBX says its version within some hundred */

/* How a file begins, with a 0 behind it; nothing where it cannot be read. */
static size_t read_head(const char *path, char head[HEAD + 1])
{
    size_t got = 0;
    FILE *in = fopen(path, "rb");
    if (in) {
        got = fread(head, 1, HEAD, in);
        fclose(in);
    }
    head[got] = '\0';
    return got;
}

static const char *advice(const char *path, const char *head)
{
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; i < sizeof unread / sizeof *unread; i++)
        if ((dot && unread[i].ending && strcasecmp(dot, unread[i].ending) == 0) ||
            (unread[i].begin && strncmp(head, unread[i].begin, strlen(unread[i].begin)) == 0))
            return unread[i].advice;
    return NULL;
}

int su_scene_parse(const char *path, su_scene *scene, char *message, size_t message_size)
{
    char head[HEAD + 1];
    size_t size = read_head(path, head);
    bool usd = false;
    if (su_usd_is_skinned(path, &usd, NULL) != SU_OK) scene->arena.failed = true;
    const char *text = usd || scene->arena.failed ? NULL : advice(path, head);
    if (text) {
        snprintf(message, message_size, "%s", text);
        return 1;
    }
    int failed = scene->arena.failed      ? 1
                 : usd                    ? su_usd_skel_scene(path, scene, message, message_size)
                 : su_gltf_is(path)       ? su_gltf_scene(path, scene, message, message_size)
                 : su_fbx6_is(head, size) ? su_fbx6_scene(path, scene, message, message_size)
                                          : su_assimp_scene(path, scene, message, message_size);
    if (!scene->arena.failed) return failed;
    snprintf(message, message_size, "memory or open files ran short"); /* names, keys and more may be missing */
    return 1;
}
