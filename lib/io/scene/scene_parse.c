#include "io/scene/scene_parse.h"

#include "io/scene/gltf_file.h"
#include "io/scene/gltf_scene.h"
#include "io/scene/scene_assimp.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define USD                                                                                                            \
    "USD is read as meshes that move, of one layer that is called .usda, .usdc, .usdz or .usd: usdcat --flatten -o "   \
    "shot.usdc FILE; or export the shot as Alembic (.abc), the rig as glTF or FBX"
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
    {".bvh", "HIERARCHY",
     "BVH is motion without a skin; put it on a character in Blender or Maya and export that as glTF or FBX"},
    {".ma", "//Maya ASCII", MAYA},
    {".mb", NULL, MAYA},
    {".max", NULL, "it is a scene of 3ds Max; export the rig as FBX with the animation baked"},
    {".c4d", NULL, "it is a scene of Cinema 4D; export the rig as FBX or glTF, or the shot as Alembic (.abc)"},
};

static const char *advice(const char *path)
{
    char begin[16] = "";
    const char *dot = strrchr(path, '.');
    FILE *in = fopen(path, "rb");
    if (in) {
        size_t got = fread(begin, 1, sizeof begin - 1, in);
        begin[got] = '\0';
        fclose(in);
    }
    for (size_t i = 0; i < sizeof unread / sizeof *unread; i++)
        if ((dot && unread[i].ending && strcasecmp(dot, unread[i].ending) == 0) ||
            (unread[i].begin && strncmp(begin, unread[i].begin, strlen(unread[i].begin)) == 0))
            return unread[i].advice;
    return NULL;
}

int su_scene_parse(const char *path, su_scene *scene, char *message, size_t message_size)
{
    const char *text = advice(path);
    if (text) {
        snprintf(message, message_size, "%s", text);
        return 1;
    }
    int failed = su_gltf_is(path) ? su_gltf_scene(path, scene, message, message_size)
                                  : su_assimp_scene(path, scene, message, message_size);
    if (!scene->arena.failed) return failed;
    snprintf(message, message_size, "memory or open files ran short"); /* names, keys and more may be missing */
    return 1;
}
