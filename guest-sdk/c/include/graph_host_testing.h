/* A host of plain values, for tests of nodes.
 *
 *     gh_test *host = gh_test_new();
 *     gh_test_file(host, "/data/a.txt", "one");
 *     GH_EXPECT_RESULT(host, "{\"path\": \"/data/a.txt\"}", "1");
 *     gh_test_free(host);
 *     return gh_test_report();
 *
 * A test is a program of the machine: it is linked with the sources of the node, with those of the SDK and with `testing/testing.c`.
 */
#ifndef GRAPH_HOST_TESTING_H
#define GRAPH_HOST_TESTING_H

#include "graph_host_model.h"
#include "graph_host_sdk.h"

typedef struct gh_test gh_test;

gh_test *gh_test_new(void);
void gh_test_free(gh_test *host);

/* --- What a test sets ------------------------------------------------------------------------------------------------------- */

/* A file of the granted folders, by path; `/` and what is below it is granted unless a test names folders. */
void gh_test_file(gh_test *host, const char *path, const char *content);
void gh_test_folder(gh_test *host, const char *path);
void gh_test_knowledge(gh_test *host, const char *key, const char *text);
void gh_test_secret(gh_test *host, const char *name, const char *handle);
void gh_test_time(gh_test *host, uint64_t seconds, uint32_t nanoseconds);
void gh_test_seed(gh_test *host, uint64_t seed);
/* The answer to the next question, and the argument of the task, as JSON text. */
void gh_test_answer(gh_test *host, const char *json);
void gh_test_argument(gh_test *host, const char *json);
/* The rest of the activation, which a test may change; its texts have to outlast the calls. */
gh_activation *gh_test_activation(gh_test *host);

/* Performs an item that the node calls, or answers a request that it sends; it fails as a node does. */
typedef bool gh_test_perform(gh_context *ctx, gh_json params, gh_json *result);
typedef bool gh_test_serve(gh_context *ctx, const gh_request *request, gh_response *response);
void gh_test_item(gh_test *host, const char *id, gh_test_perform *perform);
void gh_test_server(gh_test *host, gh_test_serve *serve);

/* Grants a language model, and adds what it answers to its next call: a text; a call of a tool, with the id `call-1` and arguments as JSON
 * text; a whole answer as JSON text, in which `stop` and `usage` may be left out; or a failure, with details as JSON text or NULL. A call
 * without an answer is a failure. */
void gh_test_model(gh_test *host, const char *name);
void gh_test_model_text(gh_test *host, const char *name, const char *text);
void gh_test_model_call(gh_test *host, const char *name, const char *tool, const char *arguments);
void gh_test_model_answer(gh_test *host, const char *name, const char *json);
void gh_test_model_failure(gh_test *host, const char *name, gh_category category, const char *message, const char *details);
/* What is left of the task's budget of models: answers draw on it, and a call is refused when no call is left. */
gh_model_budget *gh_test_model_budget(gh_test *host);

/* Lets the n-th allocation from now on fail, and all that follow; 0 lets none fail. */
void gh_test_fail_allocation(size_t number);

/* --- A call ----------------------------------------------------------------------------------------------------------------- */

typedef enum gh_test_kind { GH_TEST_RESULT, GH_TEST_COMMAND, GH_TEST_QUESTION, GH_TEST_FAILURE } gh_test_kind;

/* What a call resulted in. Its texts are released with the host. */
typedef struct gh_test_outcome {
    gh_test_kind kind;
    /* The result, what a command writes, or the question, as JSON text. */
    const char *json;
    /* Where a command goes: `node` or `node(argument)`, separated by spaces. */
    const char *targets;
    gh_category category;
    const char *message;
    /* JSON text; empty without details. */
    const char *details;
} gh_test_outcome;

/* Calls the node with params as JSON text. */
gh_test_outcome gh_test_call(gh_test *host, const char *params);
/* The description of the node, as JSON text. */
const char *gh_test_describe(gh_test *host);

/* --- What a test reads ------------------------------------------------------------------------------------------------------ */

/* The content of a file, or the text of a key; NULL if there is none. */
const char *gh_test_file_content(const gh_test *host, const char *path);
const char *gh_test_knowledge_text(const gh_test *host, const char *key);
/* A log line as `LEVEL TEXT`, or a record as `NAME JSON`, by its number from 0; NULL if there are not so many. */
const char *gh_test_log(const gh_test *host, size_t at);
const char *gh_test_record(const gh_test *host, size_t at);
/* A request that a language model was sent, as JSON text, by its number from 0; likewise. */
const char *gh_test_model_request(const gh_test *host, size_t at);

/* --- Checks ----------------------------------------------------------------------------------------------------------------- */

/* Counts a check, and prints the place if it is not met. */
void gh_test_check(bool is_met, const char *what, const char *file, int line);
void gh_test_check_text(const char *actual, const char *expected, const char *file, int line);
void gh_test_check_result(gh_test *host, const char *params, const char *expected, const char *file, int line);
void gh_test_check_failure(gh_test *host, const char *params, gh_category expected, const char *file, int line);
/* Prints how many checks there were. Gives what `main` returns. */
int gh_test_report(void);

#define GH_EXPECT(condition) gh_test_check((condition), #condition, __FILE__, __LINE__)
#define GH_EXPECT_TEXT(actual, expected) gh_test_check_text((actual), (expected), __FILE__, __LINE__)
#define GH_EXPECT_RESULT(host, params, expected) gh_test_check_result((host), (params), (expected), __FILE__, __LINE__)
#define GH_EXPECT_FAILURE(host, params, category) gh_test_check_failure((host), (params), (category), __FILE__, __LINE__)

#endif
