/* Language models of a test: answers in the order in which the test gives them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "double.h"

/* How many categories there are. */
#define CATEGORIES ((uint64_t)GH_INTERNAL + 1)

void gh_test_model(gh_test *host, const char *name)
{
    gh_test_set(&host->models, GH_T(name), GH_T(""));
}

/* Ends the test: what it has set is no JSON text. */
static void wrong(const gh_context *ctx)
{
    fprintf(stderr, "an answer of a model in the test: %s\n", ctx->message.data);
    exit(2);
}

static void begun(gh_context *ctx, const gh_test *host)
{
    if (!gh_begin(ctx, &host->activation)) wrong(ctx);
}

/* Adds an answer, and ends the context that it was made in. */
static void added(gh_context *ctx, gh_test *host, const char *name, gh_json answer)
{
    gh_text text;
    if (!gh_write_json(ctx, answer, &text)) wrong(ctx);
    gh_test_model(host, name);
    gh_test_added(&host->model_answers, GH_T(name), text);
    gh_end(ctx);
}

static void answered_with(gh_context *ctx, gh_test *host, const char *name, gh_json block, const char *stop)
{
    gh_json answer = gh_object(ctx), message = gh_object(ctx), blocks = gh_array(ctx);
    gh_add(ctx, blocks, block);
    gh_put(ctx, message, "role", "assistant");
    gh_put(ctx, message, "blocks", blocks);
    gh_put(ctx, answer, "message", message);
    gh_put(ctx, answer, "stop", stop);
    added(ctx, host, name, answer);
}

void gh_test_model_text(gh_test *host, const char *name, const char *text)
{
    gh_context ctx;
    begun(&ctx, host);
    gh_json block = gh_object(&ctx);
    gh_put(&ctx, block, "text", text);
    answered_with(&ctx, host, name, block, "end");
}

void gh_test_model_call(gh_test *host, const char *name, const char *tool, const char *arguments)
{
    gh_context ctx;
    gh_json given;
    begun(&ctx, host);
    if (!gh_parse(&ctx, arguments, &given)) wrong(&ctx);
    gh_json block = gh_object(&ctx), call = gh_object(&ctx);
    gh_put(&ctx, call, "id", "call-1");
    gh_put(&ctx, call, "name", tool);
    gh_put(&ctx, call, "arguments", given);
    gh_put(&ctx, block, "tool_call", call);
    answered_with(&ctx, host, name, block, "tool_calls");
}

void gh_test_model_answer(gh_test *host, const char *name, const char *json)
{
    gh_context ctx;
    gh_json answer;
    begun(&ctx, host);
    if (!gh_parse(&ctx, json, &answer)) wrong(&ctx);
    added(&ctx, host, name, answer);
}

void gh_test_model_failure(gh_test *host, const char *name, gh_category category, const char *message, const char *details)
{
    gh_context ctx;
    gh_json given = NULL;
    begun(&ctx, host);
    if (details != NULL && !gh_parse(&ctx, details, &given)) wrong(&ctx);
    gh_json failure = gh_object(&ctx), answer = gh_object(&ctx);
    gh_put(&ctx, failure, "category", (uint64_t)category);
    gh_put(&ctx, failure, "message", message);
    if (given != NULL) gh_put(&ctx, failure, "details", given);
    gh_put(&ctx, answer, "failed", failure);
    added(&ctx, host, name, answer);
}

gh_model_budget *gh_test_model_budget(gh_test *host)
{
    return &host->model_budget;
}

const char *gh_test_model_request(const gh_test *host, size_t at)
{
    return at < host->model_requests.count ? host->model_requests.entries[at].text : NULL;
}

/* --- What a node calls ------------------------------------------------------------------------------------------------------ */

static gh_json choice_of(gh_context *ctx, const gh_model_request *request)
{
    if (request->tool_choice != GH_MODEL_NAMED) return gh_of(ctx, request->tool_choice == GH_MODEL_NONE ? "none" : "required");
    gh_json named = gh_object(ctx);
    gh_put(ctx, named, "named", request->named);
    return named;
}

/* The request without what is not set in it. */
static bool noted(gh_context *ctx, const gh_model_request *request)
{
    gh_json json = gh_object(ctx);
    gh_text text;
    gh_put(ctx, json, "model", request->model);
    if (request->system.length > 0) gh_put(ctx, json, "system", request->system);
    gh_put(ctx, json, "messages", gh_encode(ctx, gh_model_messages, &request->messages));
    if (request->tools.count > 0) gh_put(ctx, json, "tools", gh_encode(ctx, gh_model_tools, &request->tools));
    if (request->tool_choice != GH_MODEL_AUTO) gh_put(ctx, json, "tool_choice", choice_of(ctx, request));
    if (request->output_schema != NULL) gh_put(ctx, json, "output_schema", request->output_schema);
    if (request->max_output > 0) gh_put(ctx, json, "max_output", request->max_output);
    if (request->has_temperature) gh_put(ctx, json, "temperature", request->temperature);
    if (request->stop.count > 0) gh_put(ctx, json, "stop", gh_encode(ctx, gh_texts, &request->stop));
    if (!gh_write_json(ctx, json, &text)) return false;
    gh_test_added(&gh_test_current->model_requests, GH_T(""), text);
    return true;
}

static bool failed(gh_context *ctx, gh_json failure)
{
    uint64_t category = GH_INTERNAL;
    gh_text message = {"", 0};
    gh_get_uint(gh_member(failure, "category"), &category);
    gh_get_text(gh_member(failure, "message"), &message);
    return gh_fail_with(ctx, category < CATEGORIES ? (gh_category)category : GH_INTERNAL, gh_member(failure, "details"), "%s", message.data);
}

static bool answered(gh_context *ctx, const struct entry *entry, gh_model_response *response)
{
    static const char *const figures[] = {"input", "output", "cached", "reasoning", "cost"};
    gh_json answer;
    if (!gh_parse(ctx, gh_text_at(entry->text, entry->length), &answer)) return false;
    gh_json failure = gh_member(answer, "failed");
    if (failure != NULL) return failed(ctx, failure);
    if (gh_member(answer, "stop") == NULL) gh_put(ctx, answer, "stop", "end");
    if (gh_member(answer, "usage") == NULL) gh_put(ctx, answer, "usage", gh_object(ctx));
    gh_json usage = gh_member(answer, "usage");
    for (size_t at = 0; at < sizeof figures / sizeof figures[0]; at++) {
        if (gh_member(usage, figures[at]) == NULL) gh_put(ctx, usage, figures[at], 0);
    }
    return gh_decode(ctx, gh_model_response, answer, "the answer of the test", response);
}

static void spend(uint64_t *left, uint64_t used)
{
    *left = *left > used ? *left - used : 0;
}

bool gh_model_complete(gh_context *ctx, const gh_model_request *request, gh_model_response *response)
{
    gh_model_budget *budget = &gh_test_current->model_budget;
    gh_text name = gh_text_of_text(request->model);
    if (!gh_model_check(ctx, request)) return false;
    if (gh_test_found(&gh_test_current->models, name) == NULL) {
        return gh_fail(ctx, GH_DENIED, "the model `%s` is not granted", name.data);
    }
    if (!gh_test_model_check(ctx, request)) return false;
    if (budget->has_calls && budget->calls == 0) return gh_fail(ctx, GH_LIMIT, "no call of a model is left");
    spend(&budget->calls, 1);
    if (!noted(ctx, request)) return false;
    struct entry *entry = gh_test_found(&gh_test_current->model_answers, name);
    if (entry == NULL) return gh_fail(ctx, GH_INTERNAL, "the test has no further answer of the model `%s`", name.data);
    entry->name[0] = 0;
    if (!answered(ctx, entry, response)) return false;
    spend(&budget->input, response->usage.input);
    spend(&budget->output, response->usage.output);
    spend(&budget->cost, response->usage.cost);
    return true;
}

bool gh_model_names(gh_context *ctx, gh_texts *names)
{
    const table *in = &gh_test_current->models;
    names->items = gh_alloc_array(ctx, in->count, sizeof *names->items);
    names->count = names->items == NULL ? 0 : in->count;
    for (size_t at = 0; at < names->count; at++) {
        if (!gh_copy(ctx, in->entries[at].name, strlen(in->entries[at].name), &names->items[at])) return false;
    }
    return names->items != NULL;
}

bool gh_model_remaining(gh_context *ctx, gh_model_budget *budget)
{
    (void)ctx;
    *budget = gh_test_current->model_budget;
    return true;
}
