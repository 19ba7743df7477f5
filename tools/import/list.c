#include "import.h"

#include "rig/take.h"

#include <math.h>
#include <string.h>

static void print_clips(FILE *out, const su_scene *scene)
{
    fprintf(out, "clips: %lld\n", (long long)scene->clips);
    for (int64_t i = 0; i < scene->clips; i++) {
        const su_scene_clip *clip = &scene->clip[i];
        su_take_range range;
        if (su_take_frames(scene, clip, 0.0, NAN, NAN, NAN, &range, NULL) != SU_OK) continue;
        fprintf(out, "  '%s': %.3f s from %.3f s, %lld frames at %.6g fps, %lld animated nodes", clip->name,
                clip->end - clip->start, clip->start, (long long)range.frames, range.fps, (long long)clip->channels);
        if (clip->morph_channels) fprintf(out, ", %lld blend-shape tracks", (long long)clip->morph_channels);
        fprintf(out, "\n");
    }
}

/* "/shot/man/body"; the end of it where it is longer. */
static void write_path(const su_scene *scene, int32_t node, char *path, size_t room)
{
    size_t at = room - 1;
    for (; node > 0 && at > 0; node = scene->node[node].parent) { /* 0 is the scene */
        size_t length = strlen(scene->node[node].name);
        if (length + 1 > at) break;
        memcpy(path + (at -= length), scene->node[node].name, length);
        path[--at] = '/';
    }
    memmove(path, path + at, room - 1 - at);
    path[room - 1 - at] = 0;
}

static void print_meshes(FILE *out, const su_scene *scene)
{
    fprintf(out, "meshes: %lld\n", (long long)scene->instances);
    for (int64_t i = 0; i < scene->instances; i++) {
        const su_scene_mesh *mesh = &scene->mesh[scene->instance[i].mesh];
        int64_t joints = 0;
        for (int64_t b = 0; b < mesh->bones; b++) joints += mesh->bone[b].count > 0;
        char path[400] = "";
        if (scene->mesh_is_node) write_path(scene, scene->instance[i].node, path, sizeof path);
        fprintf(out, "  '%s' (object '%s'%s%s): %lld vertices, %lld polygons, %lld joints, %lld blend shapes%s%s\n",
                mesh->name, scene->node[scene->instance[i].node].name, *path ? " at " : "", path,
                (long long)mesh->vertices, (long long)mesh->polygons, (long long)joints, (long long)mesh->shapes,
                mesh->uv ? ", uv" : "", mesh->color ? ", colours" : "");
        for (int64_t s = 0; s < mesh->shapes; s++) fprintf(out, "    shape '%s'\n", mesh->shape_names[s]);
    }
}

static void print_materials(FILE *out, const su_scene *scene)
{
    fprintf(out, "materials: %lld\n", (long long)scene->materials);
    for (int64_t i = 0; i < scene->materials; i++) fprintf(out, "  '%s'\n", scene->material[i].name);
}

static void print_joints(FILE *out, const su_scene *scene)
{
    int64_t count = 0;
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1) fprintf(out, "joints: %lld\n", (long long)count);
        for (int64_t n = 0; n < scene->nodes; n++) {
            int weighted = 0;
            for (int64_t i = 0; i < scene->meshes; i++)
                for (int64_t b = 0; b < scene->mesh[i].bones; b++)
                    weighted |= scene->mesh[i].bone[b].node == n && scene->mesh[i].bone[b].count > 0;
            count += weighted && pass == 0;
            if (weighted && pass == 1) fprintf(out, "  '%s'\n", scene->node[n].name);
        }
    }
}

void print_scene(FILE *out, const su_scene *scene)
{
    static const char *const axis[] = {"x", "y", "z"};
    fprintf(out, "format: %s, unit ", scene->format);
    if (scene->unit > 0.0)
        fprintf(out, "%.4g m", scene->unit);
    else
        fprintf(out, "not said");
    fprintf(out, ", up %s\n", scene->up >= 0 ? axis[scene->up] : "not said");
    print_clips(out, scene);
    print_meshes(out, scene);
    print_joints(out, scene);
    if (scene->materials) print_materials(out, scene);
    if (scene->files) fprintf(out, "files: %lld\n", (long long)scene->files);
    for (int64_t i = 0; i < scene->files; i++) fprintf(out, "  '%s'\n", scene->file[i]);
}
