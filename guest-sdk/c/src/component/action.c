/* The exports of the component: what the host gives a call, and what it gets. */
#include "bound.h"

/* What the host gets is released after it was read, with `free`. */
static bool given(gh_text text, built_string_t *string)
{
    string->ptr = NULL;
    string->len = 0;
    if (text.length == 0) return true;
    string->ptr = malloc(text.length);
    if (string->ptr == NULL) return false;
    memcpy(string->ptr, text.data, text.length);
    string->len = text.length;
    return true;
}

static gh_text taken(built_string_t string)
{
    return gh_text_at(string.ptr == NULL ? (const void *)"" : string.ptr, string.len);
}

static bool describe(gh_context *ctx, exports_graph_host_node_action_description_t *ret)
{
    const gh_node *node = &gh_node_of_component;
    gh_text params, result;
    if (!gh_describe(ctx, node, &params, &result)) return false;
    size_t count = 0;
    while (node->wants != NULL && node->wants[count].interface != NULL) count++;
    if (!given(GH_T(node->summary), &ret->summary) || !given(params, &ret->params) || !given(result, &ret->result)) return false;
    if (count == 0) return true;
    ret->interfaces.ptr = calloc(count, sizeof *ret->interfaces.ptr);
    if (ret->interfaces.ptr == NULL) return false;
    ret->interfaces.len = count;
    for (size_t at = 0; at < count; at++) {
        graph_host_node_types_wanted_interface_t *wanted = &ret->interfaces.ptr[at];
        if (!given(GH_T(node->wants[at].interface), &wanted->name) || !given(GH_T(node->wants[at].why), &wanted->why)) return false;
    }
    return true;
}

void exports_graph_host_node_action_describe(exports_graph_host_node_action_description_t *ret)
{
    static const gh_activation none;
    gh_context ctx;
    memset(ret, 0, sizeof *ret);
    bool is_described = gh_begin(&ctx, &none) && describe(&ctx, ret);
    if (!is_described) {
        gh_category category;
        gh_text message = gh_no_memory_message;
        gh_failed(&ctx, &category, &message);
        gh_host_log(&ctx, GH_ERROR, message);
        /* There is no failure to answer with. */
        __builtin_trap();
    }
    gh_end(&ctx);
}

static bool activated(gh_context *ctx, const exports_graph_host_node_action_activation_t *from, gh_activation *to)
{
    *to = (gh_activation){
        .run_id = taken(from->run_id),
        .root_run_id = taken(from->root_run_id),
        .parent_run_id = from->parent_run_id.is_some ? taken(from->parent_run_id.val) : gh_text_at("", 0),
        .graph_id = taken(from->graph_id),
        .node_id = taken(from->node_id),
        .superstep = from->superstep,
        .task = taken(from->task),
        .attempt = from->attempt,
        .visit = from->visit,
        .argument = from->argument.is_some ? taken(from->argument.val) : gh_text_at("", 0),
        .answers = {NULL, from->answers.len},
        .idempotency_key = taken(from->idempotency_key),
    };
    /* What the host gives has no zero byte at its end. */
    gh_text *texts[] = {&to->run_id,  &to->root_run_id, &to->parent_run_id, &to->graph_id,
                        &to->node_id, &to->task,        &to->argument,      &to->idempotency_key};
    for (size_t at = 0; at < sizeof texts / sizeof texts[0]; at++) {
        if (!gh_copy(ctx, texts[at]->data, texts[at]->length, texts[at])) return false;
    }
    to->answers.items = gh_alloc_array(ctx, from->answers.len, sizeof *to->answers.items);
    if (to->answers.items == NULL) return false;
    for (size_t at = 0; at < from->answers.len; at++) {
        if (!gh_copy(ctx, from->answers.ptr[at].ptr, from->answers.ptr[at].len, &to->answers.items[at])) return false;
    }
    return true;
}

static bool answered(const gh_outcome *outcome, exports_graph_host_node_action_outcome_t *ret)
{
    if (outcome->kind == GH_INTERRUPT) {
        ret->tag = GRAPH_HOST_NODE_TYPES_OUTCOME_INTERRUPT;
        return given(outcome->json, &ret->val.interrupt);
    }
    if (outcome->kind == GH_RESULT) {
        ret->tag = GRAPH_HOST_NODE_TYPES_OUTCOME_RESULT;
        return given(outcome->json, &ret->val.result);
    }
    ret->tag = GRAPH_HOST_NODE_TYPES_OUTCOME_COMMAND;
    graph_host_node_types_command_t *command = &ret->val.command;
    if (!given(outcome->json, &command->update)) return false;
    if (outcome->target_count == 0) return true;
    command->goto_.ptr = calloc(outcome->target_count, sizeof *command->goto_.ptr);
    if (command->goto_.ptr == NULL) return false;
    command->goto_.len = outcome->target_count;
    for (size_t at = 0; at < outcome->target_count; at++) {
        const gh_target *from = &outcome->targets[at];
        graph_host_node_types_target_t *to = &command->goto_.ptr[at];
        if (!given(from->node, &to->node)) return false;
        to->argument.is_some = from->is_send;
        if (from->is_send && !given(from->argument, &to->argument.val)) return false;
    }
    return true;
}

bool exports_graph_host_node_action_run(exports_graph_host_node_action_activation_t *activation, exports_graph_host_node_action_json_t *params,
                                        exports_graph_host_node_action_outcome_t *ret, exports_graph_host_node_action_failure_t *err)
{
    gh_context ctx;
    gh_activation of;
    gh_outcome outcome = {.kind = GH_FAILURE, .category = GH_LIMIT, .message = gh_no_memory_message};
    memset(ret, 0, sizeof *ret);
    memset(err, 0, sizeof *err);
    /* So that there is memory for the failure when there is none. */
    void *reserve = malloc(256);
    if (gh_begin(&ctx, &of) && activated(&ctx, activation, &of)) outcome = gh_perform(&ctx, &gh_node_of_component, taken(*params));
    exports_graph_host_node_action_activation_free(activation);
    exports_graph_host_node_action_json_free(params);
    bool succeeds = outcome.kind != GH_FAILURE;
    if (succeeds && !answered(&outcome, ret)) {
        exports_graph_host_node_action_outcome_free(ret);
        outcome = (gh_outcome){.kind = GH_FAILURE, .category = GH_LIMIT, .message = gh_no_memory_message};
        succeeds = false;
    }
    free(reserve);
    if (!succeeds) {
        /* The categories are in the contract's order. */
        err->category = (graph_host_node_types_category_t)outcome.category;
        if (!given(outcome.message, &err->message)) given(gh_no_memory_message, &err->message);
        err->details.is_some = outcome.details.length > 0 && given(outcome.details, &err->details.val);
    }
    gh_end(&ctx);
    return succeeds;
}
