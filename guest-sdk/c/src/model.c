/* Messages of a conversation with a language model. */
#include <string.h>

#include "internal.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* A copy of a list with room for one item more. */
static void *longer(gh_context *ctx, const void *items, size_t count, size_t size)
{
    if (count == SIZE_MAX) {
        gh_no_memory(ctx);
        return NULL;
    }
    void *more = gh_alloc_array(ctx, count + 1, size);
    if (more != NULL && count > 0) memcpy(more, items, count * size);
    return more;
}

bool gh_model_add_message(gh_context *ctx, gh_model_messages *to, gh_model_message message)
{
    gh_model_message *items = longer(ctx, to->items, to->count, sizeof *items);
    if (items == NULL) return false;
    items[to->count] = message;
    *to = (gh_model_messages){items, to->count + 1};
    return true;
}

bool gh_model_add_block(gh_context *ctx, gh_model_message *to, gh_model_block block)
{
    gh_model_block *items = longer(ctx, to->blocks.items, to->blocks.count, sizeof *items);
    if (items == NULL) return false;
    items[to->blocks.count] = block;
    to->blocks = (gh_model_blocks){items, to->blocks.count + 1};
    return true;
}

bool gh_model_say_text(gh_context *ctx, gh_model_messages *to, gh_model_role role, gh_text text)
{
    gh_model_message message = {.role = role};
    return gh_model_add_block(ctx, &message, (gh_model_block){.text = text, .has_text = true}) && gh_model_add_message(ctx, to, message);
}

bool gh_model_add_result_text(gh_context *ctx, gh_model_message *to, const gh_model_call *call, gh_text content, bool failed)
{
    gh_model_result result = {.id = call->id, .content = content, .failed = failed, .has_failed = failed};
    return gh_model_add_block(ctx, to, (gh_model_block){.tool_result = result, .has_tool_result = true});
}

bool gh_model_add_media(gh_context *ctx, gh_model_message *to, gh_text media_type, gh_text bytes)
{
    const unsigned char *from = (const unsigned char *)bytes.data;
    if (bytes.length > SIZE_MAX / 2) return gh_no_memory(ctx);
    size_t length = (bytes.length + 2) / 3 * 4, written = 0;
    char *text = gh_alloc(ctx, length + 1);
    if (text == NULL) return false;
    for (size_t at = 0; at < bytes.length; at += 3) {
        size_t rest = bytes.length - at;
        uint32_t group = (uint32_t)from[at] << 16 | (rest > 1 ? (uint32_t)from[at + 1] << 8 : 0) | (rest > 2 ? from[at + 2] : 0);
        for (size_t digit = 0; digit < 4; digit++) text[written++] = digit > rest ? '=' : digits[group >> (18 - 6 * digit) & 63];
    }
    gh_model_media media = {media_type, gh_text_at(text, length)};
    return gh_model_add_block(ctx, to, (gh_model_block){.media = media, .has_media = true});
}

bool gh_model_text_of(gh_context *ctx, const gh_model_message *message, gh_text *text)
{
    size_t length = 0, written = 0;
    for (size_t at = 0; at < message->blocks.count; at++) {
        const gh_model_block *block = &message->blocks.items[at];
        if (block->has_text) length += block->text.length;
    }
    if (length == SIZE_MAX) return gh_no_memory(ctx);
    char *joined = gh_alloc(ctx, length + 1);
    if (joined == NULL) return false;
    for (size_t at = 0; at < message->blocks.count; at++) {
        const gh_model_block *block = &message->blocks.items[at];
        if (!block->has_text || block->text.length == 0) continue;
        memcpy(joined + written, block->text.data, block->text.length);
        written += block->text.length;
    }
    *text = gh_text_at(joined, length);
    return true;
}

const gh_model_call *gh_model_next_call(const gh_model_message *message, size_t *at)
{
    while (*at < message->blocks.count) {
        const gh_model_block *block = &message->blocks.items[(*at)++];
        if (block->has_tool_call) return &block->tool_call;
    }
    return NULL;
}

static bool no_base64(gh_context *ctx, const gh_model_media *media)
{
    return gh_fail(ctx, GH_INVALID_INPUT, "the data of a file of type %s is no Base64 text", gh_text_of_text(media->media_type).data);
}

bool gh_model_bytes_of(gh_context *ctx, const gh_model_media *media, gh_text *bytes)
{
    gh_text data = media->data;
    size_t length = data.length, written = 0;
    while (length > 0 && data.length - length < 2 && data.data[length - 1] == '=') length--;
    if (data.length % 4 != 0 || length % 4 == 1) return no_base64(ctx, media);
    char *out = gh_alloc(ctx, length / 4 * 3 + 3);
    if (out == NULL) return false;
    uint32_t group = 0, bits = 0;
    for (size_t at = 0; at < length; at++) {
        const char *digit = data.data[at] == 0 ? NULL : strchr(digits, data.data[at]);
        if (digit == NULL) return no_base64(ctx, media);
        group = (group << 6 | (uint32_t)(digit - digits)) & 0xffff;
        bits += 6;
        if (bits < 8) continue;
        bits -= 8;
        out[written++] = (char)(group >> bits & 0xff);
    }
    /* Bits behind the last byte would be lost. */
    if ((group & ((1u << bits) - 1)) != 0) return no_base64(ctx, media);
    *bytes = gh_text_at(out, written);
    return true;
}

static bool is_text(gh_context *ctx, gh_text text, const char *what)
{
    return gh_check_utf8(ctx, gh_text_of_text(text), what);
}

static bool check_block(gh_context *ctx, const gh_model_block *block)
{
    int parts = block->has_text + block->has_reasoning + block->has_tool_call + block->has_tool_result + block->has_media;
    if (parts != 1) return gh_fail(ctx, GH_INVALID_INPUT, "a block is a text, reasoning, a call, a result or a file, and this one is %d of them", parts);
    if (block->has_text) return is_text(ctx, block->text, "a text of a message");
    if (block->has_tool_call) return is_text(ctx, block->tool_call.id, "the id of a call") && is_text(ctx, block->tool_call.name, "the name of a tool");
    if (block->has_tool_result) {
        return is_text(ctx, block->tool_result.id, "the id of a call") && is_text(ctx, block->tool_result.content, "the result of a tool");
    }
    return !block->has_media || is_text(ctx, block->media.media_type, "the type of a file");
}

bool gh_model_check(gh_context *ctx, const gh_model_request *request)
{
    if (!is_text(ctx, request->model, "the name of a model") || !is_text(ctx, request->system, "the instructions") ||
        !is_text(ctx, request->named, "the name of a tool"))
        return false;
    for (size_t at = 0; at < request->messages.count; at++) {
        const gh_model_message *message = &request->messages.items[at];
        for (size_t part = 0; part < message->blocks.count; part++) {
            if (!check_block(ctx, &message->blocks.items[part])) return false;
        }
    }
    for (size_t at = 0; at < request->tools.count; at++) {
        const gh_model_tool *tool = &request->tools.items[at];
        if (!is_text(ctx, tool->name, "the name of a tool") || !is_text(ctx, tool->description, "the description of a tool")) return false;
    }
    for (size_t at = 0; at < request->stop.count; at++) {
        if (!is_text(ctx, request->stop.items[at], "a text of `stop`")) return false;
    }
    return true;
}
