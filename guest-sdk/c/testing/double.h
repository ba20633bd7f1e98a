/* What the doubles of the host share. */
#ifndef GRAPH_HOST_SDK_DOUBLE_H
#define GRAPH_HOST_SDK_DOUBLE_H

#include "../include/graph_host_testing.h"
#include "../src/internal.h"

/* Texts by name, in the order in which they were set. */
typedef struct table {
    struct entry {
        char *name;
        char *text;
        size_t length;
        gh_test_perform *perform;
    } *entries;
    size_t count;
} table;

struct gh_test {
    table files, granted, folders, knowledge, secrets, items, lines, records, kept;
    /* An answer that was given has no name any more. */
    table models, model_answers, model_requests;
    gh_model_budget model_budget;
    gh_activation activation;
    gh_time time;
    uint64_t random;
    gh_test_serve *serve;
};

/* The host of the call that runs. */
extern gh_test *gh_test_current;

/* Memory that a test cannot do without. */
void *gh_test_checked(void *memory);
/* NULL if there is no entry of that name. */
struct entry *gh_test_found(const table *in, gh_text name);
struct entry *gh_test_added(table *to, gh_text name, gh_text text);
/* Adds an entry, or gives the one of that name another text. */
struct entry *gh_test_set(table *in, gh_text name, gh_text text);
/* The order of entries by their names, for `qsort`. */
int gh_test_by_name(const void *left, const void *right);
/* Refuses what the host and every provider would refuse. */
bool gh_test_model_check(gh_context *ctx, const gh_model_request *request);
/* A copy of an entry's text, in the memory of the call. */
bool gh_test_given(gh_context *ctx, const struct entry *entry, gh_text *text);

#endif
