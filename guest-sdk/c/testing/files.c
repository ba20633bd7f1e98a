/* Files and folders in memory, by their absolute paths. A folder is there if it is granted, was created, or has something below it. */
#include <stdlib.h>
#include <string.h>

#include "double.h"

static gh_text without_slash(gh_text path)
{
    while (path.length > 0 && path.data[path.length - 1] == '/') path.length--;
    return path;
}

/* Whether a path is a folder or something below it. */
static bool is_within(gh_text path, gh_text folder)
{
    folder = without_slash(folder);
    if (path.length < folder.length || (folder.length > 0 && memcmp(path.data, folder.data, folder.length) != 0)) return false;
    return path.length == folder.length || path.data[folder.length] == '/';
}

static bool is_granted(gh_context *ctx, gh_text path)
{
    const table *granted = &gh_test_current->granted;
    gh_text names = GH_T("");
    if (granted->count == 0) {
        if (path.length > 0 && path.data[0] == '/') return true;
        names = GH_T("/");
    }
    for (size_t at = 0; at < granted->count; at++) {
        const char *name = granted->entries[at].name;
        if (path.length > 0 && is_within(path, GH_T(name))) return true;
        if (!gh_format(ctx, &names, "%s%s%s", names.data, at == 0 ? "" : ", ", name)) return false;
    }
    return gh_fail(ctx, GH_DENIED, "%s: lies in no granted folder (granted: %s)", path.data, names.data);
}

typedef struct tables {
    const table *all[3];
} tables;

static tables everything(void)
{
    tables of = {{&gh_test_current->files, &gh_test_current->folders, &gh_test_current->granted}};
    return of;
}

/* What a path has below a folder: its name there, and whether it has one. */
static bool below(const char *path, gh_text folder, gh_text *name)
{
    gh_text of = GH_T(path);
    folder = without_slash(folder);
    if (!is_within(of, folder) || of.length <= folder.length + 1) return false;
    const char *rest = path + folder.length + 1, *end = strchr(rest, '/');
    *name = gh_text_at(rest, end == NULL ? strlen(rest) : (size_t)(end - rest));
    return name->length > 0;
}

static bool is_folder(gh_text path)
{
    gh_text name;
    path = without_slash(path);
    if (path.length == 0 || gh_test_found(&gh_test_current->folders, path) != NULL) return true;
    for (size_t at = 0; at < gh_test_current->granted.count; at++) {
        if (gh_equal_text(without_slash(GH_T(gh_test_current->granted.entries[at].name)), path)) return true;
    }
    tables of = everything();
    for (size_t from = 0; from < 3; from++) {
        for (size_t at = 0; at < of.all[from]->count; at++) {
            if (below(of.all[from]->entries[at].name, path, &name)) return true;
        }
    }
    return false;
}

static bool is_no_entry(gh_context *ctx, gh_text path)
{
    return gh_fail(ctx, GH_INVALID_INPUT, "%s: No such file or directory, similar to `ENOENT` in POSIX.", path.data);
}

static bool is_a_directory(gh_context *ctx, gh_text path)
{
    return gh_fail(ctx, GH_INVALID_INPUT, "%s: Is a directory, similar to `EISDIR` in POSIX.", path.data);
}

/* A folder that has to be there; `path` is what a failure is about. */
static bool check_folder(gh_context *ctx, gh_text folder, gh_text path)
{
    if (is_folder(folder)) return true;
    if (gh_test_found(&gh_test_current->files, folder) == NULL) return is_no_entry(ctx, path);
    return gh_fail(ctx, GH_INVALID_INPUT, "%s: Not a directory or a symbolic link to a directory, similar to `ENOTDIR` in POSIX.", path.data);
}

static gh_text parent(gh_text path)
{
    while (path.length > 0 && path.data[path.length - 1] != '/') path.length--;
    return without_slash(path);
}

static bool file_at(gh_context *ctx, gh_text path, struct entry **file)
{
    if (!is_granted(ctx, path)) return false;
    *file = gh_test_found(&gh_test_current->files, path);
    if (*file != NULL) return true;
    return is_folder(path) ? is_a_directory(ctx, path) : is_no_entry(ctx, path);
}

bool gh_file_read_at(gh_context *ctx, gh_text path, gh_text *content)
{
    struct entry *file;
    return file_at(ctx, path, &file) && gh_test_given(ctx, file, content);
}

bool gh_file_write_at(gh_context *ctx, gh_text path, gh_text content)
{
    if (!is_granted(ctx, path)) return false;
    if (is_folder(path)) return is_a_directory(ctx, path);
    if (gh_test_found(&gh_test_current->files, path) == NULL && !check_folder(ctx, parent(path), path)) return false;
    gh_test_set(&gh_test_current->files, path, content);
    return true;
}

bool gh_file_stat_at(gh_context *ctx, gh_text path, gh_stat *stat)
{
    struct entry *file;
    if (!is_granted(ctx, path)) return false;
    if (is_folder(path)) {
        *stat = (gh_stat){GH_FOLDER, 0};
        return true;
    }
    if (!file_at(ctx, path, &file)) return false;
    *stat = (gh_stat){GH_FILE, file->length};
    return true;
}

static int by_entry_name(const void *left, const void *right)
{
    return strcmp(((const gh_entry *)left)->name.data, ((const gh_entry *)right)->name.data);
}

static bool is_listed(const gh_entries *entries, gh_text name)
{
    for (size_t at = 0; at < entries->count; at++) {
        if (gh_equal_text(entries->items[at].name, name)) return true;
    }
    return false;
}

bool gh_folder_list_at(gh_context *ctx, gh_text path, gh_entries *entries)
{
    if (!is_granted(ctx, path) || !check_folder(ctx, path, path)) return false;
    tables of = everything();
    size_t most = of.all[0]->count + of.all[1]->count + of.all[2]->count;
    entries->count = 0;
    entries->items = gh_alloc_array(ctx, most, sizeof *entries->items);
    if (entries->items == NULL) return false;
    for (size_t from = 0; from < 3; from++) {
        for (size_t at = 0; at < of.all[from]->count; at++) {
            const char *whole = of.all[from]->entries[at].name;
            gh_text name;
            if (!below(whole, path, &name) || is_listed(entries, name)) continue;
            gh_text child = gh_text_at(whole, (size_t)(name.data - whole) + name.length);
            gh_entry *next = &entries->items[entries->count];
            next->kind = is_folder(child) ? GH_FOLDER : GH_FILE;
            if (!gh_copy(ctx, name.data, name.length, &next->name)) return false;
            entries->count++;
        }
    }
    if (entries->count > 1) qsort(entries->items, entries->count, sizeof *entries->items, by_entry_name);
    return true;
}

bool gh_folder_create_at(gh_context *ctx, gh_text path)
{
    if (!is_granted(ctx, path)) return false;
    path = without_slash(path);
    if (is_folder(path) || gh_test_found(&gh_test_current->files, path) != NULL) {
        return gh_fail(ctx, GH_PERMANENT, "%s: File exists, similar to `EEXIST` in POSIX.", path.data);
    }
    if (!check_folder(ctx, parent(path), path)) return false;
    gh_test_set(&gh_test_current->folders, path, GH_T(""));
    return true;
}

bool gh_file_remove_at(gh_context *ctx, gh_text path)
{
    struct entry *file;
    if (!file_at(ctx, path, &file)) return false;
    free(file->name);
    free(file->text);
    *file = gh_test_current->files.entries[--gh_test_current->files.count];
    /* The folder stays where nothing is in it any more. */
    if (parent(path).length > 0) gh_test_set(&gh_test_current->folders, parent(path), GH_T(""));
    return true;
}
