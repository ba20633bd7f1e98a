/* What the node of the tests does with language models, and their tests. */
#ifndef GRAPH_HOST_SDK_TESTS_MODEL_H
#define GRAPH_HOST_SDK_TESTS_MODEL_H

#include "../include/graph_host_testing.h"

bool gh_test_ask(gh_context *ctx, gh_json given, gh_json *result);
bool gh_test_converse(gh_context *ctx, gh_text bytes, gh_json *result);
bool gh_test_decode(gh_context *ctx, gh_text data, gh_json *result);
/* Checks them. */
void gh_test_models(void);

#endif
