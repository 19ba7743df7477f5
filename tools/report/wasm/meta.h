/* What a model's meta tells the run time, without a JSON library: texts and numbers by key. */
#ifndef SU_REPORT_META_H
#define SU_REPORT_META_H

#include <jansson.h>

/* key is kept, text (NULL: a number) too. */
void meta_tell(const char *key, const char *text, double number);
double meta_number(const char *key);
/* All that was told, as one object; "corrected" is true where told. */
json_t *meta_object(void);

#endif
