/* Files in the granted folders. */
#include "bound.h"

/* How much of a file one host call reads or writes. */
#define CHUNK ((size_t)256 * 1024)

static const struct {
    gh_category category;
    const char *what;
} codes[] = {
    [WASI_FILESYSTEM_TYPES_ERROR_CODE_ACCESS] = {GH_DENIED, "Permission denied, similar to `EACCES` in POSIX."},
    [WASI_FILESYSTEM_TYPES_ERROR_CODE_WOULD_BLOCK] = {GH_TRANSIENT, "Resource unavailable, or operation would block, similar to `EAGAIN` and `EWOULDBLOCK` in POSIX."},
    [WASI_FILESYSTEM_TYPES_ERROR_CODE_ALREADY] = {GH_PERMANENT, "Connection already in progress, similar to `EALREADY` in POSIX."},
    [WASI_FILESYSTEM_TYPES_ERROR_CODE_BAD_DESCRIPTOR] = {GH_PERMANENT, "Bad descriptor, similar to `EBADF` in POSIX."},
    [WASI_FILESYSTEM_TYPES_ERROR_CODE_BUSY] = {GH_TRANSIENT, "Device or resource busy, similar to `EBUSY` in POSIX."},
    [WASI_FILESYSTEM_TYPES_ERROR_CODE_DEADLOCK] = {GH_PERMANENT, "Resource deadlock would occur, similar to `EDEADLK` in POSIX."},
    [WASI_FILESYSTEM_TYPES_ERROR_CODE_QUOTA] = {GH_PERMANENT, "Storage quota exceeded, similar to `EDQUOT` in POSIX."},
    [WASI_FILESYSTEM_TYPES_ERROR_CODE_EXIST] = {GH_PERMANENT, "File exists, similar to `EEXIST` in POSIX."},
    [WASI_FILESYSTEM_TYPES_ERROR_CODE_FILE_TOO_LARGE] = {GH_PERMANENT, "File too large, similar to `EFBIG` in POSIX."},
    [WASI_FILESYSTEM_TYPES_ERROR_CODE_ILLEGAL_BYTE_SEQUENCE] = {GH_INVALID_INPUT, "Illegal byte sequence, similar to `EILSEQ` in POSIX."},
    [WASI_FILESYSTEM_TYPES_ERROR_CODE_IN_PROGRESS] = {GH_PERMANENT, "Operation in progress, similar to `EINPROGRESS` in POSIX."},
    [WASI_FILESYSTEM_TYPES_ERROR_CODE_INTERRUPTED] = {GH_TRANSIENT, "Interrupted function, similar to `EINTR` in POSIX."},
    [WASI_FILESYSTEM_TYPES_ERROR_CODE_INVALID] = {GH_INVALID_INPUT, "Invalid argument, similar to `EINVAL` in POSIX."},
    [WASI_FILESYSTEM_TYPES_ERROR_CODE_IO] = {GH_PERMANENT, "I/O error, similar to `EIO` in POSIX."},
    [WASI_FILESYSTEM_TYPES_ERROR_CODE_IS_DIRECTORY] = {GH_INVALID_INPUT, "Is a directory, similar to `EISDIR` in POSIX."},
    [WASI_FILESYSTEM_TYPES_ERROR_CODE_LOOP] = {GH_INVALID_INPUT, "Too many levels of symbolic links, similar to `ELOOP` in POSIX."},
    [WASI_FILESYSTEM_TYPES_ERROR_CODE_TOO_MANY_LINKS] = {GH_PERMANENT, "Too many links, similar to `EMLINK` in POSIX."},
    [WASI_FILESYSTEM_TYPES_ERROR_CODE_MESSAGE_SIZE] = {GH_PERMANENT, "Message too large, similar to `EMSGSIZE` in POSIX."},
    [WASI_FILESYSTEM_TYPES_ERROR_CODE_NAME_TOO_LONG] = {GH_INVALID_INPUT, "Filename too long, similar to `ENAMETOOLONG` in POSIX."},
    [WASI_FILESYSTEM_TYPES_ERROR_CODE_NO_DEVICE] = {GH_PERMANENT, "No such device, similar to `ENODEV` in POSIX."},
    [WASI_FILESYSTEM_TYPES_ERROR_CODE_NO_ENTRY] = {GH_INVALID_INPUT, "No such file or directory, similar to `ENOENT` in POSIX."},
    [WASI_FILESYSTEM_TYPES_ERROR_CODE_NO_LOCK] = {GH_PERMANENT, "No locks available, similar to `ENOLCK` in POSIX."},
    [WASI_FILESYSTEM_TYPES_ERROR_CODE_INSUFFICIENT_MEMORY] = {GH_PERMANENT, "Not enough space, similar to `ENOMEM` in POSIX."},
    [WASI_FILESYSTEM_TYPES_ERROR_CODE_INSUFFICIENT_SPACE] = {GH_PERMANENT, "No space left on device, similar to `ENOSPC` in POSIX."},
    [WASI_FILESYSTEM_TYPES_ERROR_CODE_NOT_DIRECTORY] = {GH_INVALID_INPUT, "Not a directory or a symbolic link to a directory, similar to `ENOTDIR` in POSIX."},
    [WASI_FILESYSTEM_TYPES_ERROR_CODE_NOT_EMPTY] = {GH_PERMANENT, "Directory not empty, similar to `ENOTEMPTY` in POSIX."},
    [WASI_FILESYSTEM_TYPES_ERROR_CODE_NOT_RECOVERABLE] = {GH_PERMANENT, "State not recoverable, similar to `ENOTRECOVERABLE` in POSIX."},
    [WASI_FILESYSTEM_TYPES_ERROR_CODE_UNSUPPORTED] = {GH_PERMANENT, "Not supported, similar to `ENOTSUP` and `ENOSYS` in POSIX."},
    [WASI_FILESYSTEM_TYPES_ERROR_CODE_NO_TTY] = {GH_PERMANENT, "Inappropriate I/O control operation, similar to `ENOTTY` in POSIX."},
    [WASI_FILESYSTEM_TYPES_ERROR_CODE_NO_SUCH_DEVICE] = {GH_PERMANENT, "No such device or address, similar to `ENXIO` in POSIX."},
    [WASI_FILESYSTEM_TYPES_ERROR_CODE_OVERFLOW] = {GH_PERMANENT, "Value too large to be stored in data type, similar to `EOVERFLOW` in POSIX."},
    [WASI_FILESYSTEM_TYPES_ERROR_CODE_NOT_PERMITTED] = {GH_DENIED, "Operation not permitted, similar to `EPERM` in POSIX."},
    [WASI_FILESYSTEM_TYPES_ERROR_CODE_PIPE] = {GH_PERMANENT, "Broken pipe, similar to `EPIPE` in POSIX."},
    [WASI_FILESYSTEM_TYPES_ERROR_CODE_READ_ONLY] = {GH_DENIED, "Read-only file system, similar to `EROFS` in POSIX."},
    [WASI_FILESYSTEM_TYPES_ERROR_CODE_INVALID_SEEK] = {GH_PERMANENT, "Invalid seek, similar to `ESPIPE` in POSIX."},
    [WASI_FILESYSTEM_TYPES_ERROR_CODE_TEXT_FILE_BUSY] = {GH_TRANSIENT, "Text file busy, similar to `ETXTBSY` in POSIX."},
    [WASI_FILESYSTEM_TYPES_ERROR_CODE_CROSS_DEVICE] = {GH_PERMANENT, "Cross-device link, similar to `EXDEV` in POSIX."},
};

static bool refused(gh_context *ctx, gh_text path, wasi_filesystem_types_error_code_t code)
{
    if (code < sizeof codes / sizeof codes[0] && codes[code].what != NULL) {
        return gh_fail(ctx, codes[code].category, "%s: %s", path.data, codes[code].what);
    }
    return gh_fail(ctx, GH_INTERNAL, "%s: the host gave an unknown error", path.data);
}

/* The granted folder that a path is in, and the path from there on. */
typedef struct place {
    wasi_filesystem_types_own_descriptor_t folder;
    built_string_t rest;
} place;

static bool is_below(gh_text path, built_string_t name, size_t *prefix)
{
    size_t length = name.len;
    while (length > 0 && name.ptr[length - 1] == '/') length--;
    if (path.length == 0 || path.length < length || memcmp(path.data, name.ptr, length) != 0) return false;
    *prefix = length;
    return path.length == length || path.data[length] == '/';
}

static bool find(gh_context *ctx, gh_text path, place *found)
{
    wasi_filesystem_preopens_list_tuple2_own_descriptor_string_t granted = {0};
    if (!gh_check_utf8(ctx, path, "a path")) return false;
    wasi_filesystem_preopens_get_directories(&granted);
    size_t best = SIZE_MAX, longest = 0, prefix = 0;
    gh_text names = {"", 0};
    bool is_named = true;
    for (size_t at = 0; at < granted.len; at++) {
        built_string_t name = granted.ptr[at].f1;
        is_named = is_named && gh_format(ctx, &names, "%s%s%.*s", names.data, at == 0 ? "" : ", ", (int)name.len, (const char *)name.ptr);
        if (!is_below(path, name, &prefix) || (best != SIZE_MAX && name.len <= granted.ptr[best].f1.len)) continue;
        best = at;
        longest = prefix;
    }
    bool is_found = best != SIZE_MAX;
    for (size_t at = 0; at < granted.len; at++) {
        if (at == best) found->folder = granted.ptr[at].f0;
        else wasi_filesystem_types_descriptor_drop_own(granted.ptr[at].f0);
        built_string_free(&granted.ptr[at].f1);
    }
    if (granted.len > 0) free(granted.ptr);
    if (!is_found) {
        if (!is_named) return false;
        return gh_fail(ctx, GH_DENIED, "%s: lies in no granted folder (granted: %s)", path.data, names.length == 0 ? "none" : names.data);
    }
    gh_text rest = {".", 1};
    if (path.length > longest + 1) rest = gh_text_at(path.data + longest + 1, path.length - longest - 1);
    found->rest = gh_lent(rest);
    return true;
}

static wasi_filesystem_types_borrow_descriptor_t borrowed(const place *in)
{
    return wasi_filesystem_types_borrow_descriptor(in->folder);
}

static bool open_at(gh_context *ctx, gh_text path, wasi_filesystem_types_open_flags_t how, wasi_filesystem_types_descriptor_flags_t flags,
                    wasi_filesystem_types_own_descriptor_t *opened)
{
    place in;
    wasi_filesystem_types_error_code_t code;
    if (!find(ctx, path, &in)) return false;
    bool is_open = wasi_filesystem_types_method_descriptor_open_at(borrowed(&in), WASI_FILESYSTEM_TYPES_PATH_FLAGS_SYMLINK_FOLLOW, &in.rest, how,
                                                                    flags, opened, &code);
    wasi_filesystem_types_descriptor_drop_own(in.folder);
    return is_open || refused(ctx, path, code);
}

static bool read_all(gh_context *ctx, gh_text path, wasi_filesystem_types_borrow_descriptor_t file, gh_text *content)
{
    size_t room = 0, length = 0;
    char *bytes = NULL;
    for (bool is_end = false; !is_end;) {
        built_tuple2_list_u8_bool_t more = {0};
        wasi_filesystem_types_error_code_t code;
        if (!wasi_filesystem_types_method_descriptor_read(file, CHUNK, length, &more, &code)) return refused(ctx, path, code);
        is_end = more.f1;
        if (length + more.f0.len + 1 > room) {
            room = (length + more.f0.len + 1) * (is_end ? 1 : 2);
            char *larger = gh_alloc(ctx, room);
            if (larger == NULL) {
                built_list_u8_free(&more.f0);
                return false;
            }
            if (length > 0) memcpy(larger, bytes, length);
            bytes = larger;
        }
        if (more.f0.len > 0) memcpy(bytes + length, more.f0.ptr, more.f0.len);
        length += more.f0.len;
        built_list_u8_free(&more.f0);
    }
    *content = gh_text_at(bytes, length);
    return true;
}

bool gh_file_read_at(gh_context *ctx, gh_text path, gh_text *content)
{
    wasi_filesystem_types_own_descriptor_t file;
    if (!open_at(ctx, path, 0, WASI_FILESYSTEM_TYPES_DESCRIPTOR_FLAGS_READ, &file)) return false;
    bool is_read = read_all(ctx, path, wasi_filesystem_types_borrow_descriptor(file), content);
    wasi_filesystem_types_descriptor_drop_own(file);
    return is_read;
}

static bool write_all(gh_context *ctx, gh_text path, wasi_filesystem_types_borrow_descriptor_t file, gh_text content)
{
    for (size_t at = 0; at < content.length;) {
        size_t rest = content.length - at;
        built_list_u8_t chunk = {(uint8_t *)(uintptr_t)content.data + at, rest < CHUNK ? rest : CHUNK};
        wasi_filesystem_types_filesize_t written = 0;
        wasi_filesystem_types_error_code_t code;
        if (!wasi_filesystem_types_method_descriptor_write(file, &chunk, at, &written, &code)) return refused(ctx, path, code);
        if (written == 0 || written > chunk.len) return gh_fail(ctx, GH_PERMANENT, "%s: nothing more could be written", path.data);
        at += (size_t)written;
    }
    return true;
}

bool gh_file_write_at(gh_context *ctx, gh_text path, gh_text content)
{
    wasi_filesystem_types_own_descriptor_t file;
    wasi_filesystem_types_open_flags_t how = WASI_FILESYSTEM_TYPES_OPEN_FLAGS_CREATE | WASI_FILESYSTEM_TYPES_OPEN_FLAGS_TRUNCATE;
    if (!open_at(ctx, path, how, WASI_FILESYSTEM_TYPES_DESCRIPTOR_FLAGS_WRITE, &file)) return false;
    bool is_written = write_all(ctx, path, wasi_filesystem_types_borrow_descriptor(file), content);
    wasi_filesystem_types_descriptor_drop_own(file);
    return is_written;
}

static gh_entry_kind kind_of(wasi_filesystem_types_descriptor_type_t type)
{
    switch (type) {
    case WASI_FILESYSTEM_TYPES_DESCRIPTOR_TYPE_REGULAR_FILE: return GH_FILE;
    case WASI_FILESYSTEM_TYPES_DESCRIPTOR_TYPE_DIRECTORY: return GH_FOLDER;
    case WASI_FILESYSTEM_TYPES_DESCRIPTOR_TYPE_SYMBOLIC_LINK: return GH_LINK;
    default: return GH_OTHER;
    }
}

static bool add_entry(gh_context *ctx, gh_entries *entries, size_t *room, wasi_filesystem_types_directory_entry_t *entry)
{
    if (entries->count == *room) {
        size_t larger = *room == 0 ? 16 : *room * 2;
        gh_entry *items = gh_alloc_array(ctx, larger, sizeof *items);
        if (items == NULL) {
            built_string_free(&entry->name);
            return false;
        }
        if (entries->count > 0) memcpy(items, entries->items, entries->count * sizeof *items);
        entries->items = items;
        *room = larger;
    }
    gh_entry *next = &entries->items[entries->count];
    next->kind = kind_of(entry->type);
    if (!gh_kept(ctx, &entry->name, &next->name)) return false;
    entries->count++;
    return true;
}

bool gh_folder_list_at(gh_context *ctx, gh_text path, gh_entries *entries)
{
    wasi_filesystem_types_own_descriptor_t folder;
    wasi_filesystem_types_own_directory_entry_stream_t stream;
    wasi_filesystem_types_error_code_t code;
    size_t room = 0;
    *entries = (gh_entries){NULL, 0};
    if (!open_at(ctx, path, WASI_FILESYSTEM_TYPES_OPEN_FLAGS_DIRECTORY, WASI_FILESYSTEM_TYPES_DESCRIPTOR_FLAGS_READ, &folder)) return false;
    bool is_listed = wasi_filesystem_types_method_descriptor_read_directory(wasi_filesystem_types_borrow_descriptor(folder), &stream, &code) ||
                     refused(ctx, path, code);
    if (is_listed) {
        wasi_filesystem_types_option_directory_entry_t next;
        do {
            next.is_some = false;
            is_listed = wasi_filesystem_types_method_directory_entry_stream_read_directory_entry(
                            wasi_filesystem_types_borrow_directory_entry_stream(stream), &next, &code) ||
                        refused(ctx, path, code);
            if (is_listed && next.is_some) is_listed = add_entry(ctx, entries, &room, &next.val);
        } while (is_listed && next.is_some);
        wasi_filesystem_types_directory_entry_stream_drop_own(stream);
    }
    wasi_filesystem_types_descriptor_drop_own(folder);
    return is_listed;
}

bool gh_file_stat_at(gh_context *ctx, gh_text path, gh_stat *found)
{
    place in;
    wasi_filesystem_types_descriptor_stat_t stat;
    wasi_filesystem_types_error_code_t code;
    if (!find(ctx, path, &in)) return false;
    bool is_known = wasi_filesystem_types_method_descriptor_stat_at(borrowed(&in), 0, &in.rest, &stat, &code);
    wasi_filesystem_types_descriptor_drop_own(in.folder);
    if (!is_known) return refused(ctx, path, code);
    *found = (gh_stat){kind_of(stat.type), stat.size};
    return true;
}

bool gh_folder_create_at(gh_context *ctx, gh_text path)
{
    place in;
    wasi_filesystem_types_error_code_t code;
    if (!find(ctx, path, &in)) return false;
    bool is_created = wasi_filesystem_types_method_descriptor_create_directory_at(borrowed(&in), &in.rest, &code);
    wasi_filesystem_types_descriptor_drop_own(in.folder);
    return is_created || refused(ctx, path, code);
}

bool gh_file_remove_at(gh_context *ctx, gh_text path)
{
    place in;
    wasi_filesystem_types_error_code_t code;
    if (!find(ctx, path, &in)) return false;
    bool is_removed = wasi_filesystem_types_method_descriptor_unlink_file_at(borrowed(&in), &in.rest, &code);
    wasi_filesystem_types_descriptor_drop_own(in.folder);
    return is_removed || refused(ctx, path, code);
}
