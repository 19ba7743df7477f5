/* libFuzzer's side of tests/readers.c: fuzz --reader NAME CORPUS... ; scripts/fuzz-readers runs it (make fuzz). */
#include "../readers.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const file_reader *reader;
static char folder[100];

static void clean_up(void)
{
    static const char *const names[] = {"out.npz", "out.obj", "neutral.obj", "scene"};
    char path[200];
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    for (int i = 0; i < 3 && reader->endings[i]; i++) {
        snprintf(path, sizeof path, "%s/in%s", folder, reader->endings[i]);
        unlink(path);
    }
    rmdir(folder);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    for (int i = 1; i < *argc; i++)
        if (strncmp((*argv)[i], "--reader=", 9) == 0) reader = file_reader_named((*argv)[i] + 9);
    if (!reader) {
        fprintf(stderr, "fuzz: give --reader=NAME, a folder of tests/corpus\n");
        exit(2);
    }
    const char *memory = getenv("FUZZ_FOLDER"); /* files on the way; a folder in memory is fastest */
    snprintf(folder, sizeof folder, "%.60s/supple-fuzz.XXXXXX",
             memory                          ? memory
             : access("/dev/shm", W_OK) == 0 ? "/dev/shm"
                                             : "/tmp");
    if (!mkdtemp(folder)) exit(2);
    atexit(clean_up);
    return 0;
}

/* Formats with two kinds of file are told apart by the first bytes. */
static const char *ending_of(const uint8_t *data, size_t size)
{
    if (strcmp(reader->name, "gltf") == 0) return size >= 4 && memcmp(data, "glTF", 4) == 0 ? ".glb" : ".gltf";
    if (strcmp(reader->name, "npz") == 0) return size >= 6 && memcmp(data, "\x93NUMPY", 6) == 0 ? ".npy" : ".npz";
    return reader->endings[0];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[200];
    snprintf(path, sizeof path, "%s/in%s", folder, ending_of(data, size));
    FILE *file = fopen(path, "wb");
    if (!file) abort();
    fwrite(data, 1, size, file);
    fclose(file);
    reader->run(path, folder, true);
    return 0;
}
