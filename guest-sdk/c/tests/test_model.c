/* The tests of language models. */
#include <stdio.h>
#include <string.h>

#include "model.h"

#define USER "{\"role\":\"user\",\"blocks\":[{\"text\":\"x\"}]}"
#define CALL "{\"role\":\"assistant\",\"blocks\":[{\"tool_call\":{\"id\":\"call-1\",\"name\":\"search\",\"arguments\":{}}}]}"
#define RESULT(id) "{\"role\":\"user\",\"blocks\":[{\"tool_result\":{\"id\":\"" id "\",\"content\":\"x\"}}]}"
/* Every kind of block. */
#define CONVERSATION                                                                                                              \
    "[{\"role\":\"user\",\"blocks\":[{\"text\":\"Look\"},{\"media\":{\"media_type\":\"image/png\",\"data\":\"AP8QAQ==\"}}]},"     \
    "{\"role\":\"assistant\",\"blocks\":[{\"reasoning\":{\"api\":\"x\",\"item\":[1]}},{\"text\":\"I look\"},"                    \
    "{\"tool_call\":{\"id\":\"a\",\"name\":\"search\",\"arguments\":{\"q\":9223372036854775808}}},"                              \
    "{\"tool_call\":{\"id\":\"b\",\"name\":\"search\",\"arguments\":{}}}]},"                                                     \
    "{\"role\":\"user\",\"blocks\":[{\"tool_result\":{\"id\":\"a\",\"content\":\"none\"}},"                                      \
    "{\"tool_result\":{\"id\":\"b\",\"content\":\"none\",\"failed\":true}}]}]"
#define ANSWER "{\"message\":" CALL ",\"stop\":\"tool_calls\",\"usage\":{\"input\":7,\"output\":5,\"cached\":3,\"reasoning\":2,\"cost\":11}}"

static const char *ask(const char *rest)
{
    static char text[4096];
    snprintf(text, sizeof text, "{\"op\":\"model\",\"any\":{\"model\":\"fast\",%s}}", rest);
    return text;
}

static void requests(void)
{
    gh_test *host = gh_test_new();
    gh_test_model_answer(host, "fast", ANSWER);
    gh_test_model_failure(host, "fast", GH_LIMIT, "used up", "{\"finish\":true}");
    gh_test_model(host, "good");
    *gh_test_model_budget(host) = (gh_model_budget){.calls = 2, .has_calls = true, .input = 10, .has_input = true, .output = 3, .has_output = true};
    const char *rest = "\"system\":\"Be brief.\",\"messages\":" CONVERSATION ",\"tools\":[{\"name\":\"search\",\"description\":\"Searches.\","
                       "\"parameters\":{\"type\":\"object\"}}],\"choice\":\"search\",\"output_schema\":{\"type\":\"string\"},\"max_output\":9,"
                       "\"temperature\":0.5,\"stop\":[\"END\"]";
    GH_EXPECT_RESULT(host, ask(rest), "{\"answer\":" ANSWER ",\"left\":{\"calls\":1,\"input\":3,\"output\":0},\"models\":[\"fast\",\"good\"]}");
    GH_EXPECT_TEXT(gh_test_model_request(host, 0),
                   "{\"model\":\"fast\",\"system\":\"Be brief.\",\"messages\":" CONVERSATION ",\"tools\":[{\"name\":\"search\","
                   "\"description\":\"Searches.\",\"parameters\":{\"type\":\"object\"}}],\"tool_choice\":{\"named\":\"search\"},"
                   "\"output_schema\":{\"type\":\"string\"},\"max_output\":9,\"temperature\":0.5,\"stop\":[\"END\"]}");
    GH_EXPECT_RESULT(host, ask("\"messages\":[" USER "],\"choice\":\"none\""),
                     "{\"failed\":\"used up\",\"details\":{\"finish\":true},\"left\":{\"calls\":0,\"input\":3,\"output\":0},"
                     "\"models\":[\"fast\",\"good\"]}");
    GH_EXPECT_TEXT(gh_test_model_request(host, 1), "{\"model\":\"fast\",\"messages\":[" USER "],\"tool_choice\":\"none\"}");
    GH_EXPECT_RESULT(host, ask("\"messages\":[" USER "]"),
                     "{\"failed\":\"no call of a model is left\",\"details\":null,\"left\":{\"calls\":0,\"input\":3,\"output\":0},"
                     "\"models\":[\"fast\",\"good\"]}");
    GH_EXPECT(gh_test_model_request(host, 2) == NULL);
    gh_test_free(host);
}

static void refusals(void)
{
    static const struct {
        const char *request, *told;
    } all[] = {
        {"\"messages\":[]", "messages: the last message must be the user's"},
        {"\"messages\":[" CALL "]", "messages: the last message must be the user's"},
        {"\"messages\":[{\"role\":\"user\",\"blocks\":[]}]", "messages[0]: a message of the user must not be empty"},
        {"\"messages\":[{\"role\":\"user\",\"blocks\":[{\"text\":\"\"}]}]", "messages[0]: a text must not be empty"},
        {"\"messages\":[" CALL "," USER "]", "messages[1]: each call of the message before must have one result"},
        {"\"messages\":[" CALL "," RESULT("call-2") "]", "messages[1]: each call of the message before must have one result"},
        {"\"messages\":[" USER "," RESULT("call-1") "]", "messages[1]: each call of the message before must have one result"},
        {"\"messages\":[" USER "],\"tools\":[{\"name\":\"a b\",\"parameters\":{}}]", "tools[0]: a name has 1 to 64 letters, digits, `_` and `-`"},
        {"\"messages\":[" USER "],\"tools\":[{\"name\":\"a\",\"parameters\":{}},{\"name\":\"a\",\"parameters\":{}}]", "tools[1]: the name is used twice"},
        {"\"messages\":[" USER "],\"tools\":[{\"name\":\"a\",\"parameters\":[]}]", "tools[0]: the parameters must be an object"},
        {"\"messages\":[" USER "],\"temperature\":2.5", "temperature: must be from 0 to 2"},
        {"\"messages\":[" USER "],\"stop\":[\"a\",\"b\",\"c\",\"d\",\"e\"]", "stop: at most 4 texts are allowed"},
        {"\"messages\":[{\"role\":\"user\",\"blocks\":[{\"reasoning\":1}]}]", "messages[0]: a block is in a message of the wrong role"},
        {"\"messages\":[{\"role\":\"user\",\"blocks\":[{}]}]", "a block is a text, reasoning, a call, a result or a file, and this one is 0 of them"},
        {"\"messages\":[{\"role\":\"user\",\"blocks\":[{\"text\":\"x\",\"reasoning\":1}]}]",
         "a block is a text, reasoning, a call, a result or a file, and this one is 2 of them"},
        {"\"messages\":[{\"role\":\"system\",\"blocks\":[]}]", "any.messages[0].role: `system` is none of the choices"},
    };
    gh_test *host = gh_test_new();
    gh_test_model(host, "fast");
    for (size_t at = 0; at < sizeof all / sizeof all[0]; at++) {
        gh_test_outcome outcome = gh_test_call(host, ask(all[at].request));
        GH_EXPECT(outcome.kind == GH_TEST_FAILURE && outcome.category == GH_INVALID_INPUT);
        GH_EXPECT_TEXT(outcome.message, all[at].told);
    }
    GH_EXPECT(gh_test_model_request(host, 0) == NULL);
    GH_EXPECT_FAILURE(host, "{\"op\":\"model\",\"any\":{\"model\":\"other\",\"messages\":[" USER "]}}", GH_DENIED);
    GH_EXPECT_FAILURE(host, ask("\"messages\":[" USER "]"), GH_INTERNAL);
    gh_test_free(host);
}

static gh_test *with_answers(void)
{
    gh_test *host = gh_test_new();
    gh_test_model_call(host, "fast", "get_weather", "{\"city\":\"Paris\"}");
    gh_test_model_answer(host, "fast", "{\"message\":{\"role\":\"assistant\",\"blocks\":[{\"text\":\"I \"},{\"reasoning\":1},{\"text\":\"see.\"}]}}");
    return host;
}

static void conversations(void)
{
    static const struct {
        const char *text, *data;
    } files[] = {{"", ""}, {"a", "YQ=="}, {"ab", "YWI="}, {"abc", "YWJj"}, {"abcd\xc3\xbf", "YWJjZMO/"}};
    char params[64], expected[64];
    for (size_t at = 0; at < sizeof files / sizeof files[0]; at++) {
        gh_test *host = with_answers();
        snprintf(params, sizeof params, "{\"op\":\"converse\",\"text\":\"%s\"}", files[at].text);
        snprintf(expected, sizeof expected, "[\"I see.\",\"%s\",true]", files[at].data);
        GH_EXPECT_RESULT(host, params, expected);
        gh_test_free(host);
    }
    gh_test *host = with_answers();
    gh_test_call(host, "{\"op\":\"converse\",\"text\":\"abc\"}");
    GH_EXPECT_TEXT(gh_test_model_request(host, 1),
                   "{\"model\":\"fast\",\"messages\":[{\"role\":\"user\",\"blocks\":[{\"text\":\"What is the weather?\"}]},"
                   "{\"role\":\"assistant\",\"blocks\":[{\"tool_call\":{\"id\":\"call-1\",\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}}]},"
                   "{\"role\":\"user\",\"blocks\":[{\"tool_result\":{\"id\":\"call-1\",\"content\":\"no such city\",\"failed\":true}},"
                   "{\"media\":{\"media_type\":\"image/png\",\"data\":\"YWJj\"}}]}],\"max_output\":50}");
    static const char *const wrong[] = {"A", "AA", "AAA", "AB==", "AAB=", "A===", "====", "AA=A", "A-==", "AAAA\\n", "AA\\u0000=", "\xc3\xa4=="};
    for (size_t at = 0; at < sizeof wrong / sizeof wrong[0]; at++) {
        snprintf(params, sizeof params, "{\"op\":\"base64\",\"text\":\"%s\"}", wrong[at]);
        GH_EXPECT_FAILURE(host, params, GH_INVALID_INPUT);
    }
    GH_EXPECT_RESULT(host, "{\"op\":\"base64\",\"text\":\"AAAAAA==\"}", "4");
    gh_test_free(host);
}

/* Every allocation of a call fails once. */
static void memory(void)
{
    bool is_out = true;
    size_t number = 1;
    static char params[70000];
    /* Larger than what is set aside for a call. */
    int length = snprintf(params, sizeof params, "{\"op\":\"converse\",\"text\":\"");
    memset(params + length, 'x', 60000);
    strcpy(params + length + 60000, "\"}");
    for (; is_out && number < 200; number++) {
        gh_test *host = with_answers();
        gh_test_fail_allocation(number);
        gh_test_outcome outcome = gh_test_call(host, params);
        gh_test_fail_allocation(0);
        is_out = outcome.kind == GH_TEST_FAILURE && outcome.category == GH_LIMIT;
        if (is_out) GH_EXPECT_TEXT(outcome.message, "the node ran out of memory");
        gh_test_free(host);
    }
    GH_EXPECT(number > 3 && number < 200);
}

void gh_test_models(void)
{
    requests();
    refusals();
    conversations();
    memory();
}
