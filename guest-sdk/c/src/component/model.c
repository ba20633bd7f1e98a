/* Language models. What is sent is lent to the host, which only reads it. */
#include "bound.h"

static built_string_t lent(gh_text text)
{
    return gh_lent(gh_text_of_text(text));
}

static bool lent_json(gh_context *ctx, gh_json value, built_string_t *to)
{
    gh_text text;
    if (!gh_write_json(ctx, value, &text)) return false;
    *to = gh_lent(text);
    return true;
}

static bool lend_block(gh_context *ctx, const gh_model_block *from, graph_host_host_model_block_t *to)
{
    gh_text bytes;
    if (from->has_text) {
        to->tag = GRAPH_HOST_HOST_MODEL_BLOCK_TEXT;
        to->val.text = lent(from->text);
        return true;
    }
    if (from->has_reasoning) {
        to->tag = GRAPH_HOST_HOST_MODEL_BLOCK_REASONING;
        return lent_json(ctx, from->reasoning, &to->val.reasoning);
    }
    if (from->has_tool_call) {
        to->tag = GRAPH_HOST_HOST_MODEL_BLOCK_TOOL_CALL;
        to->val.tool_call.id = lent(from->tool_call.id);
        to->val.tool_call.name = lent(from->tool_call.name);
        return lent_json(ctx, from->tool_call.arguments, &to->val.tool_call.arguments);
    }
    if (from->has_tool_result) {
        to->tag = GRAPH_HOST_HOST_MODEL_BLOCK_TOOL_RESULT;
        to->val.tool_result.id = lent(from->tool_result.id);
        to->val.tool_result.content = lent(from->tool_result.content);
        to->val.tool_result.failed = from->tool_result.failed;
        return true;
    }
    to->tag = GRAPH_HOST_HOST_MODEL_BLOCK_MEDIA;
    to->val.media.media_type = lent(from->media.media_type);
    if (!gh_model_bytes_of(ctx, &from->media, &bytes)) return false;
    to->val.media.data = (built_list_u8_t){(uint8_t *)(uintptr_t)bytes.data, bytes.length};
    return true;
}

static bool lend_messages(gh_context *ctx, const gh_model_messages *from, graph_host_host_model_list_message_t *to)
{
    to->len = from->count;
    to->ptr = gh_alloc_array(ctx, from->count, sizeof *to->ptr);
    if (to->ptr == NULL) return false;
    for (size_t at = 0; at < from->count; at++) {
        const gh_model_message *message = &from->items[at];
        graph_host_host_model_list_block_t blocks = {gh_alloc_array(ctx, message->blocks.count, sizeof *blocks.ptr), message->blocks.count};
        if (blocks.ptr == NULL) return false;
        for (size_t part = 0; part < blocks.len; part++) {
            if (!lend_block(ctx, &message->blocks.items[part], &blocks.ptr[part])) return false;
        }
        /* Roles, choices and reasons are in the interface's order. */
        to->ptr[at] = (graph_host_host_model_message_t){(graph_host_host_model_role_t)message->role, blocks};
    }
    return true;
}

static bool lend_tools(gh_context *ctx, const gh_model_tools *from, graph_host_host_model_list_tool_t *to)
{
    to->len = from->count;
    to->ptr = gh_alloc_array(ctx, from->count, sizeof *to->ptr);
    if (to->ptr == NULL) return false;
    for (size_t at = 0; at < from->count; at++) {
        const gh_model_tool *tool = &from->items[at];
        to->ptr[at].name = lent(tool->name);
        to->ptr[at].description = lent(tool->description);
        if (!lent_json(ctx, tool->parameters, &to->ptr[at].parameters)) return false;
    }
    return true;
}

static bool lend(gh_context *ctx, const gh_model_request *from, graph_host_host_model_request_t *to)
{
    to->model = lent(from->model);
    to->system = (built_option_string_t){from->system.length > 0, lent(from->system)};
    to->tool_choice.tag = (uint8_t)from->tool_choice;
    to->tool_choice.val.named = lent(from->named);
    to->max_output = (built_option_u64_t){from->max_output > 0, from->max_output};
    to->temperature = (built_option_f64_t){from->has_temperature, from->temperature};
    to->output_schema.is_some = from->output_schema != NULL;
    if (to->output_schema.is_some && !lent_json(ctx, from->output_schema, &to->output_schema.val)) return false;
    to->stop.len = from->stop.count;
    to->stop.ptr = gh_alloc_array(ctx, from->stop.count, sizeof *to->stop.ptr);
    if (to->stop.ptr == NULL) return false;
    for (size_t at = 0; at < from->stop.count; at++) to->stop.ptr[at] = lent(from->stop.items[at]);
    return lend_messages(ctx, &from->messages, &to->messages) && lend_tools(ctx, &from->tools, &to->tools);
}

/* Copies of what the host gave, which is released with the whole answer. */
static bool copied(gh_context *ctx, const built_string_t *from, gh_text *to)
{
    return gh_copy(ctx, from->ptr, from->len, to);
}

static bool parsed(gh_context *ctx, const built_string_t *from, gh_json *to)
{
    return gh_parse_text(ctx, gh_text_at(from->ptr, from->len), to);
}

static bool copy_block(gh_context *ctx, const graph_host_host_model_block_t *from, gh_model_block *to)
{
    switch (from->tag) {
    case GRAPH_HOST_HOST_MODEL_BLOCK_TEXT:
        to->has_text = true;
        return copied(ctx, &from->val.text, &to->text);
    case GRAPH_HOST_HOST_MODEL_BLOCK_REASONING:
        to->has_reasoning = true;
        return parsed(ctx, &from->val.reasoning, &to->reasoning);
    case GRAPH_HOST_HOST_MODEL_BLOCK_TOOL_CALL:
        to->has_tool_call = true;
        return copied(ctx, &from->val.tool_call.id, &to->tool_call.id) && copied(ctx, &from->val.tool_call.name, &to->tool_call.name) &&
               parsed(ctx, &from->val.tool_call.arguments, &to->tool_call.arguments);
    default:
        return gh_fail(ctx, GH_INTERNAL, "the host gave an answer with a block of the user");
    }
}

static bool copy_answer(gh_context *ctx, const graph_host_host_model_response_t *from, gh_model_response *to)
{
    const graph_host_host_model_list_block_t *blocks = &from->message.blocks;
    const graph_host_host_model_usage_t *usage = &from->usage;
    *to = (gh_model_response){
        .message = {(gh_model_role)from->message.role, {gh_alloc_array(ctx, blocks->len, sizeof *to->message.blocks.items), blocks->len}},
        .stop = (gh_model_stop)from->stop,
        .usage = {usage->input, usage->output, usage->cached, usage->reasoning, usage->cost},
    };
    if (to->message.blocks.items == NULL) return false;
    for (size_t at = 0; at < blocks->len; at++) {
        if (!copy_block(ctx, &blocks->ptr[at], &to->message.blocks.items[at])) return false;
    }
    return true;
}

/* Not shared with calls of items: clang makes such a component larger by that. */
static bool refused(gh_context *ctx, graph_host_host_model_failure_t *failure)
{
    gh_json details = NULL;
    if (failure->details.is_some && !parsed(ctx, &failure->details.val, &details)) details = NULL;
    int length = failure->message.len > INT32_MAX ? INT32_MAX : (int)failure->message.len;
    gh_fail_with(ctx, (gh_category)failure->category, details, "%.*s", length, (const char *)failure->message.ptr);
    graph_host_host_model_failure_free(failure);
    return false;
}

bool gh_model_complete(gh_context *ctx, const gh_model_request *request, gh_model_response *response)
{
    graph_host_host_model_request_t asked = {0};
    graph_host_host_model_response_t given = {0};
    graph_host_host_model_failure_t failure = {0};
    if (!gh_model_check(ctx, request) || !lend(ctx, request, &asked)) return false;
    if (!graph_host_host_model_complete(&asked, &given, &failure)) return refused(ctx, &failure);
    bool is_copied = copy_answer(ctx, &given, response);
    graph_host_host_model_response_free(&given);
    return is_copied;
}

bool gh_model_names(gh_context *ctx, gh_texts *names)
{
    built_list_string_t list = {0};
    graph_host_host_model_models(&list);
    return gh_kept_list(ctx, &list, names);
}

bool gh_model_remaining(gh_context *ctx, gh_model_budget *budget)
{
    graph_host_host_model_budget_t left = {0};
    (void)ctx;
    graph_host_host_model_remaining(&left);
    *budget = (gh_model_budget){
        .calls = left.calls.val,
        .has_calls = left.calls.is_some,
        .input = left.input.val,
        .has_input = left.input.is_some,
        .output = left.output.val,
        .has_output = left.output.is_some,
        .cost = left.cost.val,
        .has_cost = left.cost.is_some,
    };
    return true;
}
