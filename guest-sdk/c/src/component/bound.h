/* The bindings that `graph-host build` generates, and how texts pass them. */
#ifndef GRAPH_HOST_SDK_BOUND_H
#define GRAPH_HOST_SDK_BOUND_H

#include <stdlib.h>
#include <string.h>

#include "../internal.h"
#include "built.h"

/* A text for a call of the host, which only reads it. */
static inline built_string_t gh_lent(gh_text text)
{
    built_string_t string = {(uint8_t *)(uintptr_t)text.data, text.length};
    return string;
}

/* A text that the host gave, as one of the call; its own memory is released. */
static inline bool gh_kept(gh_context *ctx, built_string_t *string, gh_text *text)
{
    bool is_copied = gh_copy(ctx, string->ptr, string->len, text);
    built_string_free(string);
    return is_copied;
}

static inline bool gh_kept_bytes(gh_context *ctx, built_list_u8_t *bytes, gh_text *text)
{
    bool is_copied = gh_copy(ctx, bytes->ptr, bytes->len, text);
    built_list_u8_free(bytes);
    return is_copied;
}

static inline bool gh_kept_list(gh_context *ctx, built_list_string_t *strings, gh_texts *texts)
{
    bool is_copied = true;
    texts->items = gh_alloc_array(ctx, strings->len, sizeof *texts->items);
    texts->count = texts->items == NULL ? 0 : strings->len;
    for (size_t at = 0; at < texts->count && is_copied; at++) {
        is_copied = gh_copy(ctx, strings->ptr[at].ptr, strings->ptr[at].len, &texts->items[at]);
    }
    built_list_string_free(strings);
    return is_copied && texts->items != NULL;
}

#endif
