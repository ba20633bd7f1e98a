/* The JSON library, compiled here so that the folder of sources is all that a node is built with. */
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wpedantic"
#endif
#include "internal.h"

#include "../vendor/yyjson/yyjson.c"
