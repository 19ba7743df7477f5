/* Ends what vector_begin.h began. */

#if defined(SU_TARGET) && defined(__clang__)
#pragma clang attribute pop
#elif defined(SU_TARGET)
#pragma GCC pop_options
#endif
