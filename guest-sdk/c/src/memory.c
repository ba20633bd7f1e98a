/* The memory of a call: blocks that are released together. */
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define BLOCK ((size_t)16 * 1024)
#define ALIGN alignof(max_align_t)

struct gh_block {
    gh_block *before;
    size_t size;
    size_t used;
    max_align_t start[];
};

void *(*gh_allocate)(size_t size) = malloc;

const gh_text gh_no_memory_message = {"the node ran out of memory", 26};

bool gh_no_memory(gh_context *ctx)
{
    if (ctx->is_spoiled) return false;
    ctx->is_spoiled = true;
    ctx->has_failed = true;
    ctx->category = GH_LIMIT;
    ctx->message = gh_no_memory_message;
    ctx->details = NULL;
    return false;
}

static void *taken(gh_context *ctx, size_t size)
{
    if (size > SIZE_MAX / 2) {
        gh_no_memory(ctx);
        return NULL;
    }
    size = (size + ALIGN - 1) / ALIGN * ALIGN;
    gh_block *block = ctx->blocks;
    if (block == NULL || block->size - block->used < size) {
        size_t room = size > BLOCK ? size : BLOCK;
        gh_block *next = gh_allocate(sizeof *next + room);
        if (next == NULL) {
            gh_no_memory(ctx);
            return NULL;
        }
        next->before = block;
        next->size = room;
        next->used = 0;
        ctx->blocks = block = next;
    }
    void *memory = (char *)block->start + block->used;
    block->used += size;
    return memory;
}

void *gh_alloc(gh_context *ctx, size_t size)
{
    void *memory = taken(ctx, size);
    return memory == NULL ? NULL : memset(memory, 0, size);
}

void *gh_alloc_array(gh_context *ctx, size_t count, size_t size)
{
    if (size != 0 && count > SIZE_MAX / size) {
        gh_no_memory(ctx);
        return NULL;
    }
    return gh_alloc(ctx, count * size);
}

bool gh_copy(gh_context *ctx, const void *data, size_t length, gh_text *copy)
{
    if (length == SIZE_MAX) return gh_no_memory(ctx);
    char *memory = taken(ctx, length + 1);
    if (memory == NULL) return false;
    if (length > 0) memcpy(memory, data, length);
    memory[length] = 0;
    *copy = gh_text_at(memory, length);
    return true;
}

bool gh_formatv(gh_context *ctx, gh_text *text, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length < 0) return gh_fail(ctx, GH_INTERNAL, "a text could not be formatted");
    char *memory = taken(ctx, (size_t)length + 1);
    if (memory == NULL) return false;
    vsnprintf(memory, (size_t)length + 1, format, arguments);
    *text = gh_text_at(memory, (size_t)length);
    return true;
}

bool gh_format(gh_context *ctx, gh_text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    bool formatted = gh_formatv(ctx, text, format, arguments);
    va_end(arguments);
    return formatted;
}

gh_text gh_text_of_string(const char *string)
{
    return string == NULL ? gh_text_at("", 0) : gh_text_at(string, strlen(string));
}

gh_text gh_text_of_text(gh_text text)
{
    return text.data == NULL ? gh_text_at("", 0) : text;
}

bool gh_equal_text(gh_text left, gh_text right)
{
    return left.length == right.length && (left.length == 0 || memcmp(left.data, right.data, left.length) == 0);
}

static void *json_alloc(void *ctx, size_t size)
{
    return taken(ctx, size);
}

static void *json_realloc(void *ctx, void *old, size_t old_size, size_t size)
{
    void *memory = taken(ctx, size);
    if (memory != NULL) memcpy(memory, old, old_size < size ? old_size : size);
    return memory;
}

static void json_free(void *ctx, void *memory)
{
    (void)ctx;
    (void)memory;
}

bool gh_begin(gh_context *ctx, const gh_activation *activation)
{
    memset(ctx, 0, sizeof *ctx);
    ctx->activation = activation;
    yyjson_alc *memory = gh_alloc(ctx, sizeof *memory);
    if (memory == NULL) return false;
    *memory = (yyjson_alc){json_alloc, json_realloc, json_free, ctx};
    ctx->doc = yyjson_mut_doc_new(memory);
    return ctx->doc != NULL || gh_no_memory(ctx);
}

void gh_end(gh_context *ctx)
{
    while (ctx->blocks != NULL) {
        gh_block *block = ctx->blocks;
        ctx->blocks = block->before;
        free(block);
    }
}
