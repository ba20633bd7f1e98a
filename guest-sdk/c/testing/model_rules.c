/* Rules of requests that the host checks, so that a test finds a conversation that every provider would refuse. */
#include "double.h"

static bool refuse(gh_context *ctx, const char *path, size_t at, const char *rule)
{
    return gh_fail(ctx, GH_INVALID_INPUT, "%s[%u]: %s", path, (unsigned)at, rule);
}

static bool check_parts(gh_context *ctx, size_t index, const gh_model_message *message)
{
    if (message->role == GH_MODEL_USER && message->blocks.count == 0) {
        return refuse(ctx, "messages", index, "a message of the user must not be empty");
    }
    for (size_t at = 0; at < message->blocks.count; at++) {
        const gh_model_block *block = &message->blocks.items[at];
        bool is_answer = block->has_reasoning || block->has_tool_call, is_given = block->has_tool_result || block->has_media;
        if (block->has_text && block->text.length == 0) return refuse(ctx, "messages", index, "a text must not be empty");
        if (message->role == GH_MODEL_USER ? is_answer : is_given) {
            return refuse(ctx, "messages", index, "a block is in a message of the wrong role");
        }
    }
    return true;
}

static size_t results_of(const gh_model_message *message, gh_text id)
{
    size_t count = 0;
    for (size_t at = 0; at < message->blocks.count; at++) {
        const gh_model_block *block = &message->blocks.items[at];
        count += block->has_tool_result && gh_equal(block->tool_result.id, id);
    }
    return count;
}

/* Every call of a message has one result in the message after it, and there are no other results. */
static bool check_results(gh_context *ctx, size_t index, const gh_model_message *message, const gh_model_message *before)
{
    size_t calls = 0, results = 0, at = 0;
    for (size_t part = 0; part < message->blocks.count; part++) results += message->blocks.items[part].has_tool_result;
    for (const gh_model_call *call; before != NULL && (call = gh_model_next_call(before, &at)) != NULL; calls++) {
        if (results_of(message, call->id) != 1) return refuse(ctx, "messages", index, "each call of the message before must have one result");
    }
    return calls == results || refuse(ctx, "messages", index, "each call of the message before must have one result");
}

static bool is_name(gh_text name)
{
    bool is_valid = name.length >= 1 && name.length <= 64;
    for (size_t at = 0; at < name.length && is_valid; at++) {
        char c = name.data[at];
        is_valid = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    }
    return is_valid;
}

static bool check_tools(gh_context *ctx, const gh_model_tools *tools)
{
    for (size_t at = 0; at < tools->count; at++) {
        if (!is_name(tools->items[at].name)) return refuse(ctx, "tools", at, "a name has 1 to 64 letters, digits, `_` and `-`");
        for (size_t other = 0; other < at; other++) {
            if (gh_equal(tools->items[other].name, tools->items[at].name)) return refuse(ctx, "tools", at, "the name is used twice");
        }
        if (!gh_is_object(tools->items[at].parameters)) return refuse(ctx, "tools", at, "the parameters must be an object");
    }
    return true;
}

bool gh_test_model_check(gh_context *ctx, const gh_model_request *request)
{
    const gh_model_messages *all = &request->messages;
    if (all->count == 0 || all->items[all->count - 1].role != GH_MODEL_USER) {
        return gh_fail(ctx, GH_INVALID_INPUT, "messages: the last message must be the user's");
    }
    for (size_t at = 0; at < all->count; at++) {
        if (!check_parts(ctx, at, &all->items[at]) || !check_results(ctx, at, &all->items[at], at == 0 ? NULL : &all->items[at - 1])) return false;
    }
    if (!check_tools(ctx, &request->tools)) return false;
    if (request->stop.count > 4) return gh_fail(ctx, GH_INVALID_INPUT, "stop: at most 4 texts are allowed");
    if (request->has_temperature && !(request->temperature >= 0 && request->temperature <= 2)) {
        return gh_fail(ctx, GH_INVALID_INPUT, "temperature: must be from 0 to 2");
    }
    return true;
}
