/* What the sources of the SDK share. */
#ifndef GRAPH_HOST_SDK_INTERNAL_H
#define GRAPH_HOST_SDK_INTERNAL_H

#include <stdarg.h>

#include "../include/graph_host_model.h"
#include "../include/graph_host_sdk.h"

#define YYJSON_DISABLE_UTILS 1
#define YYJSON_DISABLE_NON_STANDARD 1
#include "yyjson_names.h"
#include "../vendor/yyjson/yyjson.h"

/* How deep a value may be nested, as in the contract. */
#define GH_DEPTH 100

/* Where memory comes from: a test puts one in its place that fails. */
extern void *(*gh_allocate)(size_t size);

typedef struct gh_block gh_block;

typedef struct gh_target {
    gh_text node;
    bool is_send;
    gh_text argument;
} gh_target;

struct gh_context {
    /* The newest block first. */
    gh_block *blocks;
    yyjson_mut_doc *doc;
    const gh_activation *activation;
    size_t asked;
    bool is_asking;
    gh_json question;
    bool has_failed;
    /* A value could not be built: what there is may have gaps. The failure stays, whatever the node returns. */
    bool is_spoiled;
    gh_category category;
    gh_text message;
    gh_json details;
    bool is_command;
    gh_json update;
    gh_target *targets;
    size_t target_count;
    size_t target_room;
};

typedef enum gh_outcome_kind { GH_RESULT, GH_COMMAND, GH_INTERRUPT, GH_FAILURE } gh_outcome_kind;

/* What a call results in. All of it belongs to the call's memory. */
typedef struct gh_outcome {
    gh_outcome_kind kind;
    /* The result, the update or the question. */
    gh_text json;
    const gh_target *targets;
    size_t target_count;
    gh_category category;
    gh_text message;
    /* Empty without details. */
    gh_text details;
} gh_outcome;

extern const gh_text gh_no_memory_message;

bool gh_begin(gh_context *ctx, const gh_activation *activation);
void gh_end(gh_context *ctx);
gh_outcome gh_perform(gh_context *ctx, const gh_node *node, gh_text params);
/* The description: JSON texts of the schemas. */
bool gh_describe(gh_context *ctx, const gh_node *node, gh_text *params, gh_text *result);
bool gh_no_memory(gh_context *ctx);
/* Makes the failure of the call final. */
void gh_spoil(gh_context *ctx, const char *why);
bool gh_failv(gh_context *ctx, gh_category category, gh_json details, const char *format, va_list arguments);
bool gh_formatv(gh_context *ctx, gh_text *text, const char *format, va_list arguments);
bool gh_is_utf8(gh_text text);
bool gh_check_utf8(gh_context *ctx, gh_text text, const char *what);

static inline gh_text gh_text_at(const void *data, size_t length)
{
    gh_text text = {data, length};
    return text;
}

static inline yyjson_mut_val *gh_raw(gh_json value)
{
    return (yyjson_mut_val *)value;
}

/* Refuses texts that are not UTF-8, and blocks that are not exactly one of their parts. */
bool gh_model_check(gh_context *ctx, const gh_model_request *request);

/* --- What the host does, once for components and once for tests. Texts are UTF-8, JSON is valid. */
void gh_host_log(gh_context *ctx, gh_level level, gh_text line);
bool gh_host_emit(gh_context *ctx, gh_text name, gh_text payload);
/* Gives the result as JSON text, or the failure with its details as JSON text. */
bool gh_host_call(gh_context *ctx, gh_text item, gh_text params, gh_text *result);

#endif
