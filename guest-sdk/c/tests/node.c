/* A node that uses every type, for the tests of the SDK. */
#include <math.h>
#include <string.h>

#include "../include/graph_host_sdk.h"
#include "model.h"

#define COLORS(CHOICE) CHOICE(RED, "red") CHOICE(BLUE, "blue")
GH_CHOICE(color, COLORS);

#define POINT(REQUIRED, OPTIONAL)       \
    REQUIRED(gh_int, x, "")             \
    OPTIONAL(gh_number, y, "How high.")
GH_RECORD(point, POINT);
GH_LIST(points, point);

#define PARAMS(REQUIRED, OPTIONAL)            \
    REQUIRED(gh_text, op, "What it does.")    \
    OPTIONAL(gh_bool, flag, "")               \
    OPTIONAL(gh_int, integer, "")             \
    OPTIONAL(gh_uint, natural, "")            \
    OPTIONAL(gh_number, number, "")           \
    OPTIONAL(gh_text, text, "")               \
    OPTIONAL(color, paint, "")                \
    OPTIONAL(points, path, "")                \
    OPTIONAL(gh_json, any, "")
GH_RECORD(params, PARAMS);

static bool serve_other(gh_context *ctx, const params *given, gh_json *result)
{
    gh_text handle, text;
    gh_response response;
    gh_header header;
    if (!gh_secret(ctx, "TOKEN", &handle) || !gh_format(ctx, &text, "Bearer %s", handle.data)) return false;
    header = (gh_header){GH_T("authorization"), text};
    gh_request request = {.method = GH_T("POST"), .url = given->text, .headers = &header, .header_count = 1, .body = GH_T("{}")};
    if (!gh_http_send(ctx, &request, &response)) return false;
    return gh_parse(ctx, response.body, result);
}

static bool use_host(gh_context *ctx, const params *given, gh_json *result)
{
    gh_entries entries;
    gh_text text;
    gh_texts keys;
    gh_hits hits;
    gh_stat stat;
    bool found;
    unsigned char bytes[8];
    gh_log(ctx, GH_WARN, "about %s", given->op.data);
    *result = gh_array(ctx);
    gh_time before = gh_now(ctx);
    gh_sleep(ctx, UINT64_C(2500000000));
    gh_time after = gh_now(ctx);
    gh_add(ctx, *result, after.seconds - before.seconds);
    gh_add(ctx, *result, after.nanoseconds);
    if (!gh_emit(ctx, "seen", *result) || !gh_random(ctx, bytes, sizeof bytes)) return false;
    if (!gh_folder_create(ctx, "/data/new") || !gh_file_write(ctx, "/data/new/b", "zwei") || !gh_folder_list(ctx, "/data", &entries) ||
        !gh_file_stat(ctx, "/data/new/b", &stat) || !gh_file_read_text(ctx, "/data/a", &text) || !gh_file_remove(ctx, "/data/a"))
        return false;
    for (size_t at = 0; at < entries.count; at++) gh_add(ctx, *result, entries.items[at].name);
    gh_add(ctx, *result, stat.size);
    gh_add(ctx, *result, text);
    if (!gh_knowledge_put(ctx, "notes/b", "two words") || !gh_knowledge_get(ctx, "notes/c", &text, &found) ||
        !gh_knowledge_search(ctx, "notes/", "words", 9, &hits) || !gh_knowledge_list(ctx, "", "notes/a", 9, &keys) ||
        !gh_secret_names(ctx, &keys))
        return false;
    gh_add(ctx, *result, found);
    gh_add(ctx, *result, hits.items[0].key);
    gh_add(ctx, *result, gh_encode(ctx, gh_texts, &keys));
    gh_json called;
    if (!gh_tool_call(ctx, "me/other", *result, &called)) return false;
    gh_add(ctx, *result, called);
    return true;
}

static bool use_folders(gh_context *ctx, gh_json *result)
{
    gh_entries entries;
    gh_stat stat;
    *result = gh_array(ctx);
    if (!gh_folder_create(ctx, "/data/new") || !gh_folder_create(ctx, "/data/new/er") || !gh_file_write(ctx, "/data/new/file", "")) return false;
    if (!gh_file_remove(ctx, "/data/new/file") || !gh_folder_list(ctx, "/data", &entries)) return false;
    for (size_t at = 0; at < entries.count; at++) {
        gh_add(ctx, *result, entries.items[at].name);
        gh_add(ctx, *result, (bool)(entries.items[at].kind == GH_FOLDER));
    }
    if (!gh_folder_list(ctx, "/data/new/", &entries) || !gh_file_stat(ctx, "/data/new/er", &stat)) return false;
    gh_add(ctx, *result, entries.count);
    gh_add(ctx, *result, (bool)(stat.kind == GH_FOLDER));
    return true;
}

static bool go_through(gh_context *ctx, gh_json value, gh_json *result)
{
    gh_iterator parts = gh_iterate(value);
    gh_text key;
    gh_json part;
    *result = gh_array(ctx);
    while (gh_next(&parts, &key, &part)) {
        gh_add(ctx, *result, key);
        gh_add(ctx, *result, part);
    }
    parts = gh_iterate(value);
    size_t count = 0;
    while (gh_next(&parts, NULL, &part)) count++;
    gh_add(ctx, *result, count);
    return true;
}

static bool run(gh_context *ctx, const params *given, gh_json *result)
{
    if (gh_equal(given->op, "folders")) return use_folders(ctx, result);
    if (gh_equal(given->op, "write")) return gh_file_write(ctx, given->text, "x");
    if (gh_equal(given->op, "create")) return gh_folder_create(ctx, given->text);
    if (gh_equal(given->op, "remove")) return gh_file_remove(ctx, given->text);
    if (gh_equal(given->op, "search")) {
        gh_hits hits;
        if (!gh_knowledge_search(ctx, "", given->text, 9, &hits)) return false;
        *result = gh_of(ctx, (uint64_t)hits.count);
        return true;
    }
    if (gh_equal(given->op, "parse")) return gh_parse(ctx, given->text, result);
    if (gh_equal(given->op, "each")) return go_through(ctx, given->any, result);
    if (gh_equal(given->op, "none")) {
        gh_no_params nothing;
        *result = gh_schema(ctx, gh_no_params_type());
        return given->any == NULL || gh_decode(ctx, gh_no_params, given->any, "params", &nothing);
    }
    if (gh_equal(given->op, "echo")) {
        *result = gh_encode(ctx, params, given);
        return true;
    }
    if (gh_equal(given->op, "any")) {
        *result = given->any;
        return true;
    }
    if (gh_equal(given->op, "nan")) {
        *result = gh_of(ctx, (double)NAN);
        return true;
    }
    if (gh_equal(given->op, "bytes")) {
        *result = gh_of(ctx, "\xff\xfe");
        return true;
    }
    if (gh_equal(given->op, "deep")) {
        /* As deep as is asked for; the same value twice, which makes a copy. */
        for (uint64_t at = 0; at < given->natural; at++) {
            gh_json outer = gh_array(ctx);
            gh_add(ctx, outer, *result);
            *result = outer;
        }
        return true;
    }
    if (gh_equal(given->op, "twice")) {
        gh_json inner = gh_object(ctx);
        gh_put(ctx, inner, "n", 1);
        gh_put(ctx, inner, "n", 2);
        *result = gh_array(ctx);
        gh_add(ctx, *result, inner);
        gh_add(ctx, *result, inner);
        gh_add(ctx, *result, *result);
        return true;
    }
    if (gh_equal(given->op, "long")) {
        char *text = gh_alloc(ctx, (size_t)given->natural + 1);
        if (text == NULL) return false;
        memset(text, 'x', (size_t)given->natural);
        *result = gh_of(ctx, (const char *)text);
        return true;
    }
    if (gh_equal(given->op, "fail")) return gh_fail_with(ctx, GH_RATE_LIMITED, given->any, "bad \xff byte");
    if (gh_equal(given->op, "false")) return false;
    if (gh_equal(given->op, "misuse")) {
        gh_put(ctx, gh_array(ctx), "n", 1);
        return true;
    }
    if (gh_equal(given->op, "ask")) {
        gh_json answer;
        /* It goes on as if nothing was asked: the question counts. */
        if (!gh_ask(ctx, gh_of(ctx, "who?"), &answer)) return true;
        *result = answer;
        return true;
    }
    if (gh_equal(given->op, "command")) return gh_write(ctx, "a", given->any) && gh_goto(ctx, "b") && gh_send(ctx, "c", 7);
    if (gh_equal(given->op, "argument")) return gh_argument(ctx, result);
    if (gh_equal(given->op, "request")) return serve_other(ctx, given, result);
    if (gh_equal(given->op, "model")) return gh_test_ask(ctx, given->any, result);
    if (gh_equal(given->op, "converse")) return gh_test_converse(ctx, given->text, result);
    if (gh_equal(given->op, "base64")) return gh_test_decode(ctx, given->text, result);
    if (gh_equal(given->op, "host")) return use_host(ctx, given, result);
    if (gh_equal(given->op, "read")) {
        gh_text text;
        return gh_file_read_text(ctx, given->text, &text);
    }
    return gh_fail(ctx, GH_INVALID_INPUT, "unknown operation %s", given->op.data);
}

GH_NODE(params, gh_json, run, .summary = "Tests the SDK.", .wants = GH_WANTS({"wasi:random/random", "draws"}));
