/* A call of the node: from params to an outcome. */
#include <string.h>

#include "internal.h"

bool gh_is_utf8(gh_text text)
{
    const unsigned char *at = (const unsigned char *)text.data, *end = at + text.length;
    while (at < end) {
        unsigned char first = *at++;
        if (first < 0x80) continue;
        int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
        if (first < 0xc2 || first > 0xf4 || end - at < more) return false;
        unsigned char low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
        unsigned char high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
        if (at[0] < low || at[0] > high) return false;
        for (int rest = 1; rest < more; rest++) {
            if ((at[rest] & 0xc0) != 0x80) return false;
        }
        at += more;
    }
    return true;
}

bool gh_check_utf8(gh_context *ctx, gh_text text, const char *what)
{
    return gh_is_utf8(text) || gh_fail(ctx, GH_INVALID_INPUT, "%s is not UTF-8 text", what);
}

/* A message for people: bytes that are no UTF-8 are question marks. */
static gh_text repaired(gh_context *ctx, gh_text text)
{
    gh_text copy;
    if (gh_is_utf8(text)) return text;
    if (!gh_copy(ctx, text.data, text.length, &copy)) return gh_no_memory_message;
    char *bytes = (char *)(uintptr_t)copy.data;
    for (size_t at = 0; at < copy.length; at++) {
        if ((unsigned char)bytes[at] >= 0x80) bytes[at] = '?';
    }
    return copy;
}

bool gh_failv(gh_context *ctx, gh_category category, gh_json details, const char *format, va_list arguments)
{
    gh_text message;
    /* What could not be built comes first: later failures follow from it. */
    if (ctx->is_spoiled || !gh_formatv(ctx, &message, format, arguments)) return false;
    ctx->has_failed = true;
    ctx->category = category;
    ctx->message = repaired(ctx, message);
    ctx->details = details;
    return false;
}

bool gh_fail(gh_context *ctx, gh_category category, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    gh_failv(ctx, category, NULL, format, arguments);
    va_end(arguments);
    return false;
}

bool gh_fail_with(gh_context *ctx, gh_category category, gh_json details, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    gh_failv(ctx, category, details, format, arguments);
    va_end(arguments);
    return false;
}

void gh_spoil(gh_context *ctx, const char *why)
{
    gh_fail(ctx, GH_INTERNAL, "%s", why);
    ctx->is_spoiled = true;
}

bool gh_failed(const gh_context *ctx, gh_category *category, gh_text *message)
{
    if (!ctx->has_failed) return false;
    *category = ctx->category;
    *message = ctx->message;
    return true;
}

gh_json gh_failure_details(const gh_context *ctx)
{
    return ctx->has_failed ? ctx->details : NULL;
}

const gh_activation *gh_activation_of(const gh_context *ctx)
{
    return ctx->activation;
}

bool gh_argument(gh_context *ctx, gh_json *argument)
{
    *argument = NULL;
    return ctx->activation->argument.length == 0 || gh_parse_text(ctx, ctx->activation->argument, argument);
}

bool gh_ask(gh_context *ctx, gh_json question, gh_json *answer)
{
    if (ctx->is_asking) return false;
    if (ctx->asked < ctx->activation->answers.count) {
        return gh_parse_text(ctx, ctx->activation->answers.items[ctx->asked++], answer);
    }
    ctx->is_asking = true;
    ctx->question = question;
    return false;
}

bool gh_write_value(gh_context *ctx, gh_text channel, gh_json value)
{
    ctx->is_command = true;
    if (ctx->update == NULL) ctx->update = gh_object(ctx);
    gh_put_value(ctx, ctx->update, channel, value);
    return !ctx->is_spoiled;
}

static bool add_target(gh_context *ctx, gh_text node, bool is_send, gh_text argument)
{
    ctx->is_command = true;
    if (!gh_check_utf8(ctx, node, "the name of a node")) return false;
    if (ctx->target_count == ctx->target_room) {
        size_t room = ctx->target_room == 0 ? 8 : ctx->target_room * 2;
        gh_target *targets = gh_alloc_array(ctx, room, sizeof *targets);
        if (targets == NULL) return false;
        if (ctx->target_count > 0) memcpy(targets, ctx->targets, ctx->target_count * sizeof *targets);
        ctx->targets = targets;
        ctx->target_room = room;
    }
    gh_target target = {node, is_send, argument};
    if (!gh_copy(ctx, node.data, node.length, &target.node)) return false;
    ctx->targets[ctx->target_count++] = target;
    return true;
}

bool gh_goto_node(gh_context *ctx, gh_text node)
{
    return add_target(ctx, node, false, gh_text_at("", 0));
}

bool gh_send_value(gh_context *ctx, gh_text node, gh_json argument)
{
    gh_text written;
    return gh_write_json(ctx, argument, &written) && add_target(ctx, node, true, written);
}

void gh_log(gh_context *ctx, gh_level level, const char *format, ...)
{
    gh_text line;
    va_list arguments;
    va_start(arguments, format);
    bool formatted = gh_formatv(ctx, &line, format, arguments);
    va_end(arguments);
    if (formatted) gh_host_log(ctx, level, repaired(ctx, line));
}

bool gh_emit_value(gh_context *ctx, gh_text name, gh_json payload)
{
    gh_text written;
    return gh_check_utf8(ctx, name, "the name of a record") && gh_write_json(ctx, payload, &written) &&
           gh_host_emit(ctx, name, written);
}

bool gh_tool_call_item(gh_context *ctx, gh_text item, gh_json params, gh_json *result)
{
    gh_text written, given;
    return gh_check_utf8(ctx, item, "the id of an item") && gh_write_json(ctx, params, &written) &&
           gh_host_call(ctx, item, written, &given) && gh_parse_text(ctx, given, result);
}

bool gh_file_read_text_at(gh_context *ctx, gh_text path, gh_text *content)
{
    gh_text read;
    if (!gh_file_read_at(ctx, path, &read)) return false;
    if (!gh_is_utf8(read)) return gh_fail(ctx, GH_PERMANENT, "%s: is not UTF-8 text", path.data);
    *content = read;
    return true;
}

bool gh_http_get_url(gh_context *ctx, gh_text url, gh_response *response)
{
    gh_request request = {.url = url};
    return gh_http_send(ctx, &request, response);
}

gh_text gh_response_header(const gh_response *response, const char *name)
{
    for (size_t at = 0; at < response->header_count; at++) {
        if (gh_equal(response->headers[at].name, name)) return response->headers[at].value;
    }
    return gh_text_at("", 0);
}

static bool performed(gh_context *ctx, const gh_node *node, gh_text params, gh_outcome *outcome)
{
    const gh_type *takes = node->params(), *gives = node->result();
    gh_json given;
    if (!gh_parse_text(ctx, params, &given)) return false;
    void *decoded = gh_alloc(ctx, takes->size), *result = gh_alloc(ctx, gives->size);
    if (decoded == NULL || result == NULL) return false;
    if (!gh_decode_value(ctx, takes, given, "params", decoded)) return false;
    bool succeeded = node->run(ctx, decoded, result);
    if (ctx->is_spoiled) return false;
    if (ctx->is_asking) {
        outcome->kind = GH_INTERRUPT;
        return gh_write_json(ctx, ctx->question, &outcome->json);
    }
    if (!succeeded) {
        return ctx->has_failed ? false : gh_fail(ctx, GH_INTERNAL, "the node returned false without a failure");
    }
    if (ctx->is_command) {
        outcome->kind = GH_COMMAND;
        outcome->targets = ctx->targets;
        outcome->target_count = ctx->target_count;
        if (ctx->update == NULL) ctx->update = gh_object(ctx);
        return gh_write_json(ctx, ctx->update, &outcome->json);
    }
    outcome->kind = GH_RESULT;
    return gh_write_json(ctx, gh_encode_value(ctx, gives, result), &outcome->json);
}

gh_outcome gh_perform(gh_context *ctx, const gh_node *node, gh_text params)
{
    gh_outcome outcome = {0};
    if (!ctx->is_spoiled && performed(ctx, node, params, &outcome)) return outcome;
    outcome = (gh_outcome){.kind = GH_FAILURE};
    gh_text details = {"", 0};
    if (ctx->details != NULL && !ctx->is_spoiled) {
        gh_category category = ctx->category;
        gh_text message = ctx->message;
        /* Details that cannot be written say so in their place. */
        if (gh_write_json(ctx, ctx->details, &details)) {
            ctx->category = category;
            ctx->message = message;
        }
    }
    outcome.category = ctx->category;
    outcome.message = ctx->message;
    outcome.details = details;
    return outcome;
}

bool gh_describe(gh_context *ctx, const gh_node *node, gh_text *params, gh_text *result)
{
    return gh_write_json(ctx, gh_schema(ctx, node->params()), params) &&
           gh_write_json(ctx, gh_schema(ctx, node->result()), result);
}
