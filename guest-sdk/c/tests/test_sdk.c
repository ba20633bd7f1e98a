/* The tests of the SDK, run on the machine. */
#include "../include/graph_host_testing.h"
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void failure_is(gh_test *host, const char *params, gh_category category, const char *message)
{
    gh_test_outcome outcome = gh_test_call(host, params);
    GH_EXPECT(outcome.kind == GH_TEST_FAILURE && outcome.category == category);
    GH_EXPECT_TEXT(outcome.message, message);
}

static void types(gh_test *host)
{
    const char *whole = "{\"op\":\"echo\",\"flag\":true,\"integer\":-9223372036854775808,\"natural\":18446744073709551615,\"number\":1.5,"
                        "\"text\":\"h\xc3\xa4user \xf0\x9f\x98\x80 \\u0000\",\"paint\":\"blue\",\"path\":[{\"x\":9007199254740993,\"y\":0.1},{\"x\":-1}],"
                        "\"any\":{\"a\":[null,1e100]}}";
    GH_EXPECT_RESULT(host, whole, whole);
    GH_EXPECT_RESULT(host, "{\"op\":\"echo\"}", "{\"op\":\"echo\"}");
    GH_EXPECT_RESULT(host, "{\"op\":\"echo\",\"text\":null,\"any\":null}", "{\"op\":\"echo\",\"any\":null}");
    GH_EXPECT_RESULT(host, "{\"op\":\"echo\",\"integer\":3.0,\"number\":3}", "{\"op\":\"echo\",\"integer\":3,\"number\":3.0}");
    GH_EXPECT_RESULT(host, "{\"op\":\"any\",\"any\":[9007199254740993,18446744073709551615,-9223372036854775808,1e100,-0.0]}",
                     "[9007199254740993,18446744073709551615,-9223372036854775808,1e100,-0.0]");
    GH_EXPECT_RESULT(host, "{\"op\":\"any\"}", "null");
    failure_is(host, "{}", GH_INVALID_INPUT, "params.op: missing");
    failure_is(host, "[]", GH_INVALID_INPUT, "params: an object is needed");
    failure_is(host, "{\"op\":1}", GH_INVALID_INPUT, "params.op: a text is needed");
    failure_is(host, "{\"op\":\"echo\",\"extra\":1}", GH_INVALID_INPUT, "params.extra: unknown key");
    failure_is(host, "{\"op\":\"echo\",\"flag\":1}", GH_INVALID_INPUT, "params.flag: a boolean is needed");
    failure_is(host, "{\"op\":\"echo\",\"integer\":9223372036854775808}", GH_INVALID_INPUT, "params.integer: an integer of 64 bits is needed");
    failure_is(host, "{\"op\":\"echo\",\"integer\":1.5}", GH_INVALID_INPUT, "params.integer: an integer of 64 bits is needed");
    failure_is(host, "{\"op\":\"echo\",\"natural\":-1}", GH_INVALID_INPUT, "params.natural: an integer of 64 bits that is not negative is needed");
    failure_is(host, "{\"op\":\"echo\",\"paint\":\"green\"}", GH_INVALID_INPUT, "params.paint: `green` is none of the choices");
    failure_is(host, "{\"op\":\"echo\",\"path\":{}}", GH_INVALID_INPUT, "params.path: an array is needed");
    failure_is(host, "{\"op\":\"echo\",\"path\":[{\"x\":1},{\"y\":1}]}", GH_INVALID_INPUT, "params.path[1].x: missing");
    failure_is(host, "{\"op\":\"echo\",\"path\":[{\"x\":\"1\"}]}", GH_INVALID_INPUT, "params.path[0].x: an integer of 64 bits is needed");
    GH_EXPECT_TEXT(gh_test_describe(host),
                   "{\"summary\":\"Tests the SDK.\",\"params\":{\"type\":\"object\",\"properties\":{"
                   "\"op\":{\"type\":\"string\",\"description\":\"What it does.\"},\"flag\":{\"type\":[\"boolean\",\"null\"]},"
                   "\"integer\":{\"type\":[\"integer\",\"null\"]},\"natural\":{\"type\":[\"integer\",\"null\"],\"minimum\":0},"
                   "\"number\":{\"type\":[\"number\",\"null\"]},\"text\":{\"type\":[\"string\",\"null\"]},"
                   "\"paint\":{\"type\":[\"string\",\"null\"],\"enum\":[\"red\",\"blue\",null]},"
                   "\"path\":{\"type\":[\"array\",\"null\"],\"items\":{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"integer\"},"
                   "\"y\":{\"type\":[\"number\",\"null\"],\"description\":\"How high.\"}},\"required\":[\"x\"],\"additionalProperties\":false}},"
                   "\"any\":{}},\"required\":[\"op\"],\"additionalProperties\":false},\"result\":{},"
                   "\"wants\":{\"wasi:random/random\":\"draws\"}}");
}

static char *nested(size_t depth)
{
    char *text = malloc(2 * depth + 64);
    if (text == NULL) exit(2);
    int length = sprintf(text, "{\"op\":\"any\",\"any\":");
    memset(text + length, '[', depth);
    memset(text + length + depth, ']', depth);
    strcpy(text + length + 2 * depth, "}");
    return text;
}

static void json(gh_test *host)
{
    failure_is(host, "{\"op\":\"nan\"}", GH_INTERNAL, "a number is not finite");
    failure_is(host, "{\"op\":\"bytes\"}", GH_INTERNAL, "a text is not UTF-8");
    GH_EXPECT_FAILURE(host, "{\"op\":\"\xff\"}", GH_INVALID_INPUT);
    GH_EXPECT_FAILURE(host, "{\"op\":\"\\ud800\"}", GH_INVALID_INPUT);
    GH_EXPECT_FAILURE(host, "{\"op\":\"any\",\"any\":1e400}", GH_INVALID_INPUT);
    GH_EXPECT_FAILURE(host, "{\"op\":", GH_INVALID_INPUT);
    GH_EXPECT_FAILURE(host, "", GH_INVALID_INPUT);
    GH_EXPECT_FAILURE(host, "{\"op\":\"any\"} x", GH_INVALID_INPUT);
    failure_is(host, "{\"op\":\"parse\",\"text\":\"[{\\\"b\\\":{\\\"x\\\":1,\\\"xy\\\":2,\\\"x\\\":3}}]\"}", GH_INVALID_INPUT,
               "this is no JSON text: an object has the key `x` twice");
    GH_EXPECT_RESULT(host, "{\"op\":\"parse\",\"text\":\"{\\\"x\\\":{\\\"x\\\":1},\\\"xy\\\":2,\\\"\\\":3}\"}", "{\"x\":{\"x\":1},\"xy\":2,\"\":3}");
    GH_EXPECT_RESULT(host, "{\"op\":\"each\",\"any\":[7,[8],null]}", "[\"\",7,\"\",[8],\"\",null,3]");
    GH_EXPECT_RESULT(host, "{\"op\":\"each\",\"any\":{\"a\":1,\"b\":{\"c\":2},\"\":3}}", "[\"a\",1,\"b\",{\"c\":2},\"\",3,3]");
    GH_EXPECT_RESULT(host, "{\"op\":\"each\",\"any\":{}}", "[0]");
    GH_EXPECT_RESULT(host, "{\"op\":\"each\",\"any\":1}", "[0]");
    GH_EXPECT_RESULT(host, "{\"op\":\"none\",\"any\":{}}", "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}");
    failure_is(host, "{\"op\":\"none\",\"any\":{\"x\":1}}", GH_INVALID_INPUT, "params.x: unknown key");
    char *fits = nested(99), *is_deep = nested(100), *is_deeper = nested(200000);
    GH_EXPECT(gh_test_call(host, fits).kind == GH_TEST_RESULT);
    GH_EXPECT_FAILURE(host, is_deep, GH_INVALID_INPUT);
    GH_EXPECT_FAILURE(host, is_deeper, GH_INVALID_INPUT);
    free(fits);
    free(is_deep);
    free(is_deeper);
    GH_EXPECT(gh_test_call(host, "{\"op\":\"deep\",\"natural\":100}").kind == GH_TEST_RESULT);
    failure_is(host, "{\"op\":\"deep\",\"natural\":101}", GH_LIMIT, "a JSON value is nested deeper than 100");
    failure_is(host, "{\"op\":\"deep\",\"natural\":100000}", GH_LIMIT, "a JSON value is nested deeper than 100");
    /* An array in itself never ends. */
    failure_is(host, "{\"op\":\"twice\"}", GH_LIMIT, "a JSON value is nested deeper than 100");
    gh_test_outcome outcome = gh_test_call(host, "{\"op\":\"long\",\"natural\":3000000}");
    GH_EXPECT(outcome.kind == GH_TEST_RESULT && strlen(outcome.json) == 3000002);
}

static void outcomes(gh_test *host)
{
    gh_test_outcome outcome = gh_test_call(host, "{\"op\":\"fail\",\"any\":{\"why\":1}}");
    GH_EXPECT(outcome.kind == GH_TEST_FAILURE && outcome.category == GH_RATE_LIMITED);
    GH_EXPECT_TEXT(outcome.message, "bad ? byte");
    GH_EXPECT_TEXT(outcome.details, "{\"why\":1}");
    failure_is(host, "{\"op\":\"false\"}", GH_INTERNAL, "the node returned false without a failure");
    failure_is(host, "{\"op\":\"misuse\"}", GH_INTERNAL, "`gh_put` needs an object");
    outcome = gh_test_call(host, "{\"op\":\"command\",\"any\":{\"n\":1}}");
    GH_EXPECT(outcome.kind == GH_TEST_COMMAND);
    GH_EXPECT_TEXT(outcome.json, "{\"a\":{\"n\":1}}");
    GH_EXPECT_TEXT(outcome.targets, "b c(7)");
    outcome = gh_test_call(host, "{\"op\":\"ask\"}");
    GH_EXPECT(outcome.kind == GH_TEST_QUESTION);
    GH_EXPECT_TEXT(outcome.json, "\"who?\"");
    gh_test_answer(host, "{\"name\":\"Ada\"}");
    GH_EXPECT_RESULT(host, "{\"op\":\"ask\"}", "{\"name\":\"Ada\"}");
    GH_EXPECT_RESULT(host, "{\"op\":\"argument\"}", "null");
    gh_test_argument(host, "[18446744073709551615]");
    GH_EXPECT_RESULT(host, "{\"op\":\"argument\"}", "[18446744073709551615]");
}

static bool twofold(gh_context *ctx, gh_json params, gh_json *result)
{
    *result = gh_of(ctx, gh_count(params));
    return true;
}

static bool served(gh_context *ctx, const gh_request *request, gh_response *response)
{
    gh_text body;
    if (!gh_equal(request->method, "POST")) return gh_fail(ctx, GH_TRANSIENT, "the server takes no connections");
    if (!gh_format(ctx, &body, "[\"%s\",\"%s\"]", request->url.data, request->headers[0].value.data)) return false;
    response->body = body;
    return true;
}

static gh_test *with_all(void)
{
    gh_test *host = gh_test_new();
    gh_test_time(host, 100, 700000000);
    gh_test_file(host, "/data/a", "eins");
    gh_test_knowledge(host, "notes/a", "one word");
    gh_test_secret(host, "TOKEN", "handle-1");
    gh_test_item(host, "me/other", twofold);
    gh_test_server(host, served);
    return host;
}

#define GIVEN "[3,200000000,\"a\",\"new\",4,\"eins\",false,\"notes/b\",[\"TOKEN\"],9]"

static void doubles(void)
{
    gh_test *host = with_all();
    GH_EXPECT_RESULT(host, "{\"op\":\"host\"}", GIVEN);
    GH_EXPECT_TEXT(gh_test_log(host, 0), "warn about host");
    GH_EXPECT_TEXT(gh_test_record(host, 0), "seen [3,200000000]");
    GH_EXPECT_TEXT(gh_test_file_content(host, "/data/new/b"), "zwei");
    GH_EXPECT(gh_test_file_content(host, "/data/a") == NULL);
    GH_EXPECT_TEXT(gh_test_knowledge_text(host, "notes/b"), "two words");
    GH_EXPECT_RESULT(host, "{\"op\":\"request\",\"text\":\"https://x/y\"}", "[\"https://x/y\",\"Bearer handle-1\"]");
    GH_EXPECT_FAILURE(host, "{\"op\":\"read\",\"text\":\"/data/a\"}", GH_INVALID_INPUT);
    gh_test_file(host, "/data/b", "\xff");
    failure_is(host, "{\"op\":\"read\",\"text\":\"/data/b\"}", GH_PERMANENT, "/data/b: is not UTF-8 text");
    GH_EXPECT_FAILURE(host, "{\"op\":\"read\",\"text\":\"data/b\"}", GH_DENIED);
    gh_test_free(host);
    host = gh_test_new();
    gh_test_file(host, "/data/a", "x");
    GH_EXPECT_RESULT(host, "{\"op\":\"folders\"}", "[\"a\",false,\"new\",true,1,true]");
    failure_is(host, "{\"op\":\"create\",\"text\":\"/data/new\"}", GH_PERMANENT, "/data/new: File exists, similar to `EEXIST` in POSIX.");
    failure_is(host, "{\"op\":\"remove\",\"text\":\"/data/new\"}", GH_INVALID_INPUT, "/data/new: Is a directory, similar to `EISDIR` in POSIX.");
    failure_is(host, "{\"op\":\"write\",\"text\":\"/none/a\"}", GH_INVALID_INPUT, "/none/a: No such file or directory, similar to `ENOENT` in POSIX.");
    GH_EXPECT_FAILURE(host, "{\"op\":\"write\",\"text\":\"/data/a/b\"}", GH_INVALID_INPUT);
    GH_EXPECT_FAILURE(host, "{\"op\":\"create\",\"text\":\"/none/a\"}", GH_INVALID_INPUT);
    gh_test_knowledge(host, "a", "One small\nword");
    GH_EXPECT_RESULT(host, "{\"op\":\"search\",\"text\":\" word  ONE\"}", "1");
    GH_EXPECT_RESULT(host, "{\"op\":\"search\",\"text\":\"\"}", "1");
    GH_EXPECT_RESULT(host, "{\"op\":\"search\",\"text\":\"wor\"}", "0");
    GH_EXPECT_RESULT(host, "{\"op\":\"search\",\"text\":\"one words\"}", "0");
    gh_test_server(host, served);
    gh_test_secret(host, "TOKEN", "handle-1");
    GH_EXPECT_RESULT(host, "{\"op\":\"request\",\"text\":\"https://x/y#z\"}", "[\"https://x/y\",\"Bearer handle-1\"]");
    failure_is(host, "{\"op\":\"request\",\"text\":\"x\"}", GH_INVALID_INPUT, "x: a URL begins with https://");
    failure_is(host, "{\"op\":\"request\",\"text\":\"ftp://x\"}", GH_INVALID_INPUT, "ftp://x: a URL begins with https:// or http://");
    gh_test_free(host);
    host = gh_test_new();
    gh_test_folder(host, "/data");
    failure_is(host, "{\"op\":\"read\",\"text\":\"/database\"}", GH_DENIED, "/database: lies in no granted folder (granted: /data)");
    GH_EXPECT_FAILURE(host, "{\"op\":\"read\",\"text\":\"/database\"}", GH_DENIED);
    GH_EXPECT_FAILURE(host, "{\"op\":\"request\",\"text\":\"https://x/y\"}", GH_DENIED);
    gh_test_free(host);
}

/* Every allocation of a call fails once: the call ends with a failure, and nothing else happens. */
static void memory(void)
{
    static const char *const calls[] = {
        "{\"op\":\"host\"}",
        "{\"op\":\"echo\",\"text\":\"x\",\"path\":[{\"x\":1},{\"x\":2}],\"any\":[[[1]],\"a long text\"]}",
        "{\"op\":\"command\",\"any\":{\"n\":1}}",
        "{\"op\":\"long\",\"natural\":100000}",
        "{\"op\":\"fail\",\"any\":{\"why\":1}}",
    };
    for (size_t call = 0; call < sizeof calls / sizeof calls[0]; call++) {
        bool is_out = true;
        size_t number = 1;
        for (; is_out && number < 200; number++) {
            gh_test *host = with_all();
            gh_test_fail_allocation(number);
            gh_test_outcome outcome = gh_test_call(host, calls[call]);
            gh_test_fail_allocation(0);
            is_out = outcome.kind == GH_TEST_FAILURE && outcome.category == GH_LIMIT;
            if (is_out) GH_EXPECT_TEXT(outcome.message, "the node ran out of memory");
            gh_test_free(host);
        }
        GH_EXPECT(number > 2 && number < 200);
    }
    gh_test *host = with_all();
    gh_test_outcome outcome = gh_test_call(host, "{\"op\":\"long\",\"natural\":18446744073709551614}");
    GH_EXPECT(outcome.kind == GH_TEST_FAILURE && outcome.category == GH_LIMIT);
    gh_test_free(host);
}

int main(void)
{
    gh_test *host = gh_test_new();
    types(host);
    json(host);
    outcomes(host);
    gh_test_free(host);
    doubles();
    memory();
    gh_test_models();
    return gh_test_report();
}
