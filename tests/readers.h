/* Every reader of strangers' files, run from the first byte to a written supple.anim: for the corpus and for fuzzing.
 */
#ifndef TESTS_READERS_H
#define TESTS_READERS_H

#include <stdbool.h>

typedef struct file_reader {
    const char *name;       /* folder below tests/corpus/ */
    const char *endings[3]; /* kinds of file it reads, with the dot; the fuzzer uses the first that fits the bytes */
    /* Reads path and whatever follows from it. folder: for files on the way. here: in this process what else runs in a
     * child. Any answer is right, so there is none: what counts is that it returns. */
    void (*run)(const char *path, const char *folder, bool here);
} file_reader;

extern const file_reader file_readers[]; /* ends with a NULL name */
const file_reader *file_reader_named(const char *name);

#endif
